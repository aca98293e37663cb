package chaos

import (
	"context"
	"time"

	"github.com/lastseat/lastseat/internal/dev/verify"
	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
)

// observations is what was seen of everything that happened.
type observations struct {
	faults  []injected
	mails   verify.Mails
	lines   map[int32][]verify.LineMark // by run
	pending verify.Findings             // left to do when patience ended
}

// slowRecovery is longer than anything may take to recover (docs/design.md, crash
// points: without a notification, a line waits for the sweep over all runs).
const slowRecovery = 15 * time.Second

// judge compares everything that happened with the rules.
func (s *system) judge(ctx context.Context, p plan, o observations) (*result, error) {
	r := newResult(p, s.impossible(), o)
	outbox, err := verify.ReadOutbox(ctx, s.postgresURL)
	if err != nil {
		return r, err
	}
	for _, run := range s.people.runs {
		v, err := s.judgeRun(ctx, run, outbox, o)
		if err != nil {
			return r, err
		}
		r.add(run, v)
	}
	report, err := doctor.Visit(ctx, s.store, doctor.Options{})
	if err != nil {
		return r, err
	}
	for _, f := range report.Findings {
		if !f.Warning {
			r.Addf("the doctor says: %s", f)
		}
	}
	if r.SlowestRecovery > float64(slowRecovery.Milliseconds()) {
		r.Addf("a person waited %.0f ms although nothing was wrong any more", r.SlowestRecovery)
	}
	r.addDelivery(verify.Deliver(outbox, o.mails, r.faultCount()))
	return r, nil
}

// judgeRun judges the line of a run as that of a rush, and what people were told
// of it.
func (s *system) judgeRun(ctx context.Context, run *run, outbox []verify.OutboxRow, o observations) (*verify.Result, error) {
	l, err := verify.ReadLedger(ctx, s.postgresURL, run.slug)
	if err != nil {
		return nil, err
	}
	schedule, err := verify.ReadSchedule(ctx, s.postgresURL, run.slug)
	if err != nil {
		return nil, err
	}
	l.NoteCorrections(run.corrections)
	v := verify.Line(run.rules, l)
	v.CompareAnswers(run.submissions, l)
	v.FindOvertaken(run.submissions)
	v.FindLost(run.submissions, run.changes, l)
	judgeRefusals(v, run, o.faults)
	mails := o.mails.OfRun(run.slug, outbox)
	if run.moves > 0 {
		v.CheckMoved(schedule, l, mails)
	}
	v.CheckCorrections(run.corrections, l, mails)
	return v, nil
}

// judgeRefusals finds people who were told that an outcome is unknown while a line
// was held and nothing else was broken: nothing was accepted then, which is known.
func judgeRefusals(v *verify.Result, run *run, faults []injected) {
	for _, f := range faults {
		if f.kind != "line_held" || f.from.IsZero() {
			continue
		}
		for _, s := range run.submissions {
			for _, a := range s.Refused {
				if a.Asked.After(f.from) && a.Answered.Before(f.to) && a.Problem == string(enroll.OutcomeUnknown) {
					v.Addf("person %d asked while a line was held and heard %s after %s",
						s.Person, a.Problem, a.Answered.Sub(a.Asked).Round(time.Millisecond))
				}
			}
		}
	}
}
