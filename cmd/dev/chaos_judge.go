package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
)

// awaitQuiet waits until nothing is left to do, and returns what is when its
// patience ends.
func (s *site) awaitQuiet(ctx context.Context) ([]string, error) {
	var restless []string
	var mu sync.Mutex
	defer s.tool.progressEvery(ctx, 5*time.Second, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(restless[:min(len(restless), 3)], "; ")
	})()
	for began := time.Now(); time.Since(began) < chaosPatience; {
		now, err := s.restless(ctx)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		restless = now
		mu.Unlock()
		if len(now) == 0 {
			return nil, nil
		}
		if !sleep(ctx, time.Second) {
			return nil, ctx.Err()
		}
	}
	return restless, nil
}

// restless returns what still has to be done: programs that are not ready, lines
// to be settled, mails to be sent, tasks on queues.
func (s *site) restless(ctx context.Context) (all []string, err error) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, m := range s.members {
		if err := m.ready(ctx); err != nil {
			add("%s is not ready", m.name)
		}
	}
	behind, err := s.store.LinesBehind(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	for _, b := range behind {
		add("run %s: a request has waited for %s", b.Run, b.Age.Round(time.Second))
	}
	pending, oldest, err := s.store.MailBacklog(ctx)
	if err != nil {
		return nil, err
	}
	if pending > 0 {
		add("%d mails wait, the oldest for %s", pending, oldest.Round(time.Second))
	}
	tasks, err := s.tasks()
	return append(all, tasks...), err
}

// tasks returns what stands on Asynq's queues, in any state.
func (s *site) tasks() (all []string, err error) {
	o, err := asynq.ParseRedisURI(s.redisURL)
	if err != nil {
		return nil, err
	}
	inspector := asynq.NewInspector(o)
	defer func() { _ = inspector.Close() }() // it only read
	queues, err := inspector.Queues()
	if err != nil {
		return nil, err
	}
	for _, name := range queues {
		q, err := inspector.GetQueueInfo(name)
		if err != nil {
			return nil, err
		}
		if q.Size > 0 {
			all = append(all, fmt.Sprintf("queue %s: tasks active: %d, pending: %d, scheduled: %d, to be tried again: %d, archived: %d",
				name, q.Active, q.Pending, q.Scheduled, q.Retry, q.Archived))
		}
	}
	return all, nil
}

// judge holds everything that happened against the rules.
func (s *site) judge(ctx context.Context, plan chaosPlan, v *visitors, faults []faultRecord, letters map[string]int, restless []string) (chaosResult, error) {
	r := chaosResult{chaosJSON: chaosJSON{Seconds: plan.seconds, Seed: plan.seed, Faults: make(map[string]int)}, wrong: restless}
	for _, f := range faults {
		r.Faults[f.kind]++
	}
	for _, run := range v.runs {
		l, err := readLedger(ctx, s.postgresURL, run.slug)
		if err != nil {
			return r, err
		}
		r.judgeRun(run, l)
		r.measureRecovery(l.line, faults)
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
	outbox, err := s.readOutbox(ctx)
	if err != nil {
		return r, err
	}
	r.judgeLetters(outbox, letters)
	return r, nil
}

// slowRecovery is longer than anything may take to recover (docs/design.md, crash
// points: a line that nobody has heard of waits for the sweep over all runs).
const slowRecovery = 15 * time.Second

// judgeRun judges the line of a run as that of a rush, and what people were told
// of it.
func (r *chaosResult) judgeRun(run *chaosRun, l ledger) {
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
		if kept[c.ID] != c.Ticket {
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

// measureRecovery finds who waited longest for a decision while nothing was
// wrong any more: from the end of the last fault before the decision, or from
// when it was asked for if that was later. Nobody waits for mail.
func (r *chaosResult) measureRecovery(line []entry, faults []faultRecord) {
	for _, e := range line {
		if e.DecidedAt == nil {
			continue
		}
		since := e.AcceptedAt
		for _, f := range faults {
			if mail := strings.HasPrefix(f.kind, "mail_"); !mail && !f.from.IsZero() && f.from.Before(*e.DecidedAt) && f.to.After(since) {
				since = f.to
			}
		}
		if took := e.DecidedAt.Sub(since); took > 0 {
			r.SlowestRecovery = max(r.SlowestRecovery, rounded(took.Seconds()*1000))
		}
	}
}

// outboxRow is a mail of the outbox.
type outboxRow struct {
	ID    string
	Run   string
	Kind  enroll.MailKind
	State enroll.MailState
	About enroll.Status // of the registration, in the end
}

// superseded tells whether the mail need not arrive: what it says is no longer so.
func (m outboxRow) superseded() bool {
	if m.State != enroll.MailSkipped {
		return false
	}
	switch m.Kind {
	case enroll.MailConfirmed, enroll.MailPromoted:
		return m.About != enroll.Confirmed
	case enroll.MailWaitlisted:
		return m.About != enroll.Waitlisted
	case enroll.MailAlreadyRegistered:
		return m.About != enroll.Confirmed && m.About != enroll.Waitlisted
	default:
		return false
	}
}

func (s *site) readOutbox(ctx context.Context) ([]outboxRow, error) {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `
		SELECT m.id::text, r.slug, m.kind, m.state, q.status
		FROM mails m JOIN runs r ON r.id = m.run_id JOIN requests q ON q.run_id = m.run_id AND q.ticket = m.ticket`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[outboxRow])
}

// mailsAtOnce is how many mails a worker sends at once, by default: so many can be
// on their way when a fault comes.
const mailsAtOnce = 4

// judgeLetters compares the outbox with what arrived. Which mails have to be in
// the outbox, the line says. One that a later event superseded need not arrive;
// one that was handed over while somebody died or was frozen, or that the mail
// server took without a word, may arrive again.
func (r *chaosResult) judgeLetters(outbox []outboxRow, arrived map[string]int) {
	missing := 0
	for _, m := range outbox {
		n := arrived[m.ID]
		delete(arrived, m.ID)
		if n == 0 && !m.superseded() {
			missing++
			r.blame("run %s: a mail %q is %s, its registration %s, and it has not arrived", m.Run, m.Kind, m.State, m.About)
		}
		if n > 1 {
			r.MailRepeated += n - 1
		}
		r.letters += n
	}
	r.MailMissing += missing
	faults := 0
	for _, n := range r.Faults {
		faults += n
	}
	if most := mailsAtOnce * faults; r.MailRepeated > most {
		r.blame("%d mails have arrived again; %d faults can explain %d", r.MailRepeated, faults, most)
	}
	for id, n := range arrived {
		r.blame("%d mails have arrived that are not in the outbox (%s)", n, cmp.Or(id, "unread"))
	}
}
