package main

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
)

// witnessed is what was seen of everything that happened.
type witnessed struct {
	faults  []faultRecord
	letters map[string][]letter  // that arrived, by the mail of the outbox
	lines   map[int32][]lineMark // by run
}

// judge holds everything that happened against the rules.
func (s *site) judge(ctx context.Context, plan chaosPlan, v *visitors, w witnessed, restless []string) (chaosResult, error) {
	r := chaosResult{chaosJSON: chaosJSON{Seconds: plan.seconds, Seed: plan.seed, Faults: make(map[string]int), NotPossible: s.impossible()}, wrong: restless}
	for _, f := range w.faults {
		if !f.from.IsZero() {
			r.Faults[f.kind]++
		}
	}
	for _, marks := range w.lines {
		r.measureRecovery(marks, w.faults)
	}
	outbox, err := s.readOutbox(ctx)
	if err != nil {
		return r, err
	}
	for _, run := range v.runs {
		l, err := readLedger(ctx, s.postgresURL, run.slug)
		if err != nil {
			return r, err
		}
		now, err := s.readSchedule(ctx, run.slug)
		if err != nil {
			return r, err
		}
		letters := lettersOf(run.slug, outbox, w.letters)
		r.judgeRun(run, l)
		r.judgeRefusals(run, w.faults)
		r.judgeMoved(run, now, l, letters)
		r.judgeCorrected(run, l, letters)
	}
	report, err := doctor.Visit(ctx, s.store, doctor.Options{})
	if err != nil {
		return r, err
	}
	for _, f := range report.Findings {
		if !f.Warning {
			r.blame("the doctor says: %s", f)
		}
	}
	if r.SlowestRecovery > float64(slowRecovery.Milliseconds()) {
		r.blame("somebody waited %.0f ms although nothing was wrong any more", r.SlowestRecovery)
	}
	r.judgeLetters(outbox, w.letters)
	return r, nil
}

// slowRecovery is longer than anything may take to recover (docs/design.md, crash
// points: a line that nobody has heard of waits for the sweep over all runs).
const slowRecovery = 15 * time.Second

// judgeRun judges the line of a run as that of a rush, and what people were told
// of it.
func (r *chaosResult) judgeRun(run *chaosRun, l ledger) {
	for _, c := range run.corrections {
		if c.ticket <= int64(len(l.line)) {
			l.line[c.ticket-1].FirstKey = c.known.email
		}
	}
	one := result{plan: run.plan, rushJSON: rushJSON{Rejected: make(map[string]int)}}
	one.judgeLine(l)
	one.judgeTold(run.clicks, l)
	r.Accepted += len(l.line)
	r.Undecided += one.Undecided
	r.Oversold += one.Oversold
	r.OutOfOrder += one.OutOfOrder + one.PromotedOutOfOrder
	r.DoubleSeated += one.DuplicatesSeated
	r.MailMissing += one.MailsMissing
	r.WentBack += one.wentBack
	r.confirmed += one.Confirmed
	r.waitlisted += one.Waitlisted
	r.cancelled += one.Cancelled
	r.promoted += one.Promoted
	for _, text := range one.wrong {
		r.blame("run %s: %s", run.slug, text)
	}
	if early := overtakers(run.clicks); early > 0 {
		r.OutOfOrder += early
		r.blame("run %s: %d people have a smaller ticket than somebody who had an answer before they asked", run.slug, early)
	}
	r.judgeKept(run, l)
}

// judgeKept counts what was accepted and is not in the line.
func (r *chaosResult) judgeKept(run *chaosRun, l ledger) {
	kept := make(map[uuid.UUID]int64, len(l.line))
	for _, e := range l.line {
		kept[e.ID] = e.Ticket
	}
	lost := func(what string, ticket int64) {
		r.Lost++
		r.blame("run %s: a %s was accepted with ticket %d, and is not in the line", run.slug, what, ticket)
	}
	at := func(ticket int64, kind enroll.Kind) bool {
		return ticket >= 1 && ticket <= int64(len(l.line)) && l.line[ticket-1].Kind == kind
	}
	for _, c := range run.clicks {
		if kept[c.ID] != c.Ticket && l.retired[c.ID] != c.Ticket {
			lost("registration", c.Ticket)
		}
		for _, a := range c.cancels {
			if a.ticket != 0 && !at(a.ticket, enroll.Cancel) {
				lost("cancellation", a.ticket)
			}
		}
	}
	for _, a := range run.changes {
		if !at(a.registration.Ticket, enroll.Resize) {
			lost("change of capacity", a.registration.Ticket)
		}
	}
}

// judgeRefusals looks at what people heard who asked while a line was held and
// nothing else was broken: nothing was accepted, which is known, so nobody may
// hear that it is not.
func (r *chaosResult) judgeRefusals(run *chaosRun, faults []faultRecord) {
	for _, f := range faults {
		if f.kind != "line_held" || f.from.IsZero() {
			continue
		}
		for _, c := range run.clicks {
			for _, a := range c.refused {
				if a.asked.After(f.from) && a.answered.Before(f.to) && a.problem == string(enroll.OutcomeUnknown) {
					r.blame("run %s: person %d asked while a line was held and heard %s after %s",
						run.slug, c.person, a.problem, a.answered.Sub(a.asked).Round(time.Millisecond))
				}
			}
		}
	}
}

// overtakers counts those who asked when somebody had an answer already, and got
// the smaller ticket.
func overtakers(clicks []*click) int {
	asked := slices.Clone(clicks)
	slices.SortFunc(asked, func(a, b *click) int { return a.sent.Compare(b.sent) })
	answered := slices.Clone(clicks)
	slices.SortFunc(answered, func(a, b *click) int { return a.answered.Compare(b.answered) })
	early, next, largest := 0, 0, int64(0)
	for _, c := range asked {
		for ; next < len(answered) && answered[next].answered.Before(c.sent); next++ {
			largest = max(largest, answered[next].Ticket)
		}
		if c.Ticket < largest {
			early++
		}
	}
	return early
}
