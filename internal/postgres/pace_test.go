package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

const pace = 10 * time.Minute

// pass lets time pass.
func (o *office) pass(d time.Duration) {
	o.t.Helper()
	o.exec(`UPDATE mails SET due_at = due_at - $1::interval, next_at = next_at - $1::interval, ended_at = ended_at - $1::interval,
		left_at = left_at - $1::interval, claimed_until = claimed_until - $1::interval`, d)
}

// cancel cancels a registration, and settles.
func (o *office) cancel(ticket int64) {
	o.t.Helper()
	o.exec(`
		WITH line AS (UPDATE lines SET last_ticket = last_ticket + 1 WHERE run_id = $1 RETURNING last_ticket)
		INSERT INTO requests (run_id, ticket, id, kind, accepted_at, target) SELECT $1, last_ticket, gen_random_uuid(), 'cancel', now(), $2 FROM line`, o.run, ticket)
	settle(o.t, o.Store, o.run)
}

func (o *office) states() []string {
	o.t.Helper()
	return pgtest.Query[string](o.t, o.url, `SELECT kind || ' ' || ticket || ' ' || state FROM mails ORDER BY ticket, due_at, kind`)
}

func TestSomebodyElsesMailbox(t *testing.T) {
	t.Parallel()
	t.Run("gets two mails about a run at once, and then one that sums up", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		ticket := int64(1)
		for range 58 {
			o.ask(person(1))
			o.cancel(ticket)
			ticket += 2
			o.sendAll()
		}
		o.ask(person(1))
		o.sendAll()
		if n := pgtest.Query[int](t, o.url, `SELECT count(*) FROM mails WHERE state = 'sent'`)[0]; n != 2 {
			t.Errorf("%d mails have left", n)
		}
		o.pass(pace)
		sent := o.sendAll()
		if len(sent) != 1 || sent[0].Kind != enroll.MailSummary || len(sent[0].About) != 59 {
			t.Fatalf("then %d left: %+v", len(sent), sent)
		}
		for _, e := range sent[0].About {
			seated, told := e.Ticket == ticket, e.Ticket == 1 || e.Ticket == 3
			if seated != (e.Status == enroll.Confirmed) || told != (e.LastTold.Status == enroll.Cancelled) || e.LastTold.Entry {
				t.Errorf("ticket %d is %s and was told %+v", e.Ticket, e.Status, e.LastTold)
			}
		}
		o.pass(pace)
		if left := o.sendAll(); len(left) != 0 {
			t.Errorf("and then %d more", len(left))
		}
		// What the summary told is what each of them was told last.
		o.cancel(ticket)
		if e := o.requireSent(fmt.Sprintf("cancelled %d", ticket))[0].About[0]; e.LastTold.Status != enroll.Confirmed || !e.LastTold.Entry {
			t.Errorf("it was told %+v", e.LastTold)
		}
	})
	t.Run("a summary has each entry that differs from what was told", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		o.ask(person(1))
		o.cancel(1)
		o.requireSent("cancelled 1")
		o.pass(pace)
		o.ask(person(1)) // ticket 3
		o.requireSent("confirmed 3")
		o.ask(person(1))
		o.requireSent("already_registered 3")
		o.cancel(3)
		o.ask(person(1)) // ticket 6
		o.requireSent()
		o.pass(pace)
		sent := o.sendAll()
		if len(sent) != 1 || sent[0].Kind != enroll.MailSummary {
			t.Fatalf("got %+v", sent)
		}
		var entries []int64
		for _, e := range sent[0].About {
			if e.LastTold.Entry {
				entries = append(entries, e.Ticket)
			}
		}
		if !slices.Equal(entries, []int64{3}) {
			t.Errorf("a calendar may have the entries of %v, want of 3", entries)
		}
	})
	t.Run("what failed did not leave", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		o.ask(person(1))
		for range 5 {
			o.end(o.mustClaim(o.due(1)[0]), enroll.MailAttempt{State: enroll.MailPending})
		}
		o.requireSent("confirmed 1")
	})
	t.Run("what comes while a summary waits is told by it, and by no mail that is on its way", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		for ticket := int64(1); ticket < 9; ticket += 2 {
			o.ask(person(1))
			o.sendAll()
			o.cancel(ticket)
			o.sendAll()
		}
		o.due(0)
		o.pass(pace)
		summary := o.mustClaim(o.due(1)[0])
		if summary.Kind != enroll.MailSummary {
			t.Fatalf("got %+v", summary)
		}
		o.ask(person(1)) // ticket 9
		for _, d := range o.due(1) {
			o.mustNotClaim(d) // the one on its way does not tell it
		}
		o.end(summary, enroll.MailAttempt{State: enroll.MailPending})
		o.pass(2 * time.Second)
		for _, d := range o.due(2) {
			if d.ID != summary.ID {
				o.mustNotClaim(d)
			}
		}
		again := o.mustClaim(enroll.DueMail{ID: summary.ID, Attempts: 1})
		if e := again.About[0]; e.Ticket != 9 || e.Status != enroll.Confirmed || e.LastTold.Status != "" {
			t.Errorf("it tells %+v", e)
		}
		o.end(again, enroll.MailAttempt{State: enroll.MailSent})
		o.requireSent()
		for _, m := range pgtest.Query[bool](t, o.url, `SELECT told_by IS NOT NULL FROM mails WHERE state = 'skipped'`) {
			if !m {
				t.Error("a mail was dropped")
			}
		}
	})
	t.Run("a summary that failed and is sent again tells the same registrations", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		for ticket := int64(1); ticket < 7; ticket += 2 {
			o.ask(person(1))
			o.sendAll()
			o.cancel(ticket)
			o.sendAll()
		}
		o.ask(person(1)) // ticket 7
		o.sendAll()
		o.pass(pace)
		summary := o.mustClaim(o.due(1)[0])
		o.end(summary, enroll.MailAttempt{State: enroll.MailFailed, Problem: "no such user"})
		if _, err := o.ResendMail(t.Context(), access.Operator, "a", summary.ID); err != nil {
			t.Fatal(err)
		}
		o.pass(pace)
		sent := o.sendAll()
		if len(sent) != 1 || sent[0].Kind != enroll.MailSummary || len(sent[0].About) != 4 {
			t.Fatalf("sent were %+v", sent)
		}
		o.move(time.Hour)
		o.writeChanges(0, 10)
		o.pass(pace)
		if e := o.requireSent("changed 7")[0].About[0]; e.LastTold.Status != enroll.Confirmed || !e.Moved() {
			t.Errorf("it was told %+v", e.LastTold)
		}
	})
	t.Run("five confirmations in five runs are five mails", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		o.inRuns(5)
		if sent := o.sendAll(); len(sent) != 5 {
			t.Errorf("%d left", len(sent))
		}
	})
	t.Run("twenty leave in all, the rest later", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		o.inRuns(45)
		for _, want := range []int{20, 20, 5, 0} {
			if sent := o.sendAll(); len(sent) != want {
				t.Errorf("%d left, want %d", len(sent), want)
			}
			o.pass(pace)
		}
	})
	t.Run("a clock that was set back holds nothing back", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		o.inRuns(25)
		o.sendAll()
		o.exec(`UPDATE mails SET left_at = left_at + interval '1 day', next_at = now()`)
		if sent := o.sendAll(); len(sent) != 5 {
			t.Errorf("%d left, want 5", len(sent))
		}
	})
	t.Run("many who claim at once let two leave", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.pace = pace
		for ticket := int64(1); ticket < 17; ticket += 2 {
			o.ask(person(1))
			o.cancel(ticket)
		}
		var wg sync.WaitGroup
		for _, d := range o.due(16) {
			wg.Go(func() {
				m, err := o.claim(d)
				if err == nil {
					err = o.EndMailAttempt(t.Context(), m.ID, m.Attempt, enroll.MailAttempt{State: enroll.MailSent})
				}
				if err != nil && enroll.CodeOf(err) != enroll.NotFound {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for range 4 {
			o.exec(`UPDATE mails SET next_at = now() WHERE state = 'pending' AND kind <> 'summary'`)
			o.sendAll()
		}
		if n := pgtest.Query[int](t, o.url, `SELECT count(*) FROM mails WHERE state = 'sent'`)[0]; n != enroll.PaceRun {
			t.Errorf("%d left", n)
		}
		o.pass(pace)
		if sent := o.sendAll(); len(sent) != 1 || sent[0].Kind != enroll.MailSummary {
			t.Errorf("then left %+v", sent)
		}
		if pending := pgtest.Query[int](t, o.url, `SELECT count(*) FROM mails WHERE state = 'pending'`)[0]; pending != 0 {
			t.Errorf("%d still wait: %q", pending, o.states())
		}
	})
}

// inRuns has one person confirmed in so many runs.
func (o *office) inRuns(n int) {
	o.t.Helper()
	for i := range n {
		slug := fmt.Sprintf("run-%d", i)
		run := enrolltest.OpenRun(o.t, o.Store, slug, enrolltest.Seats(1))
		accept(o.t, o.Store, enrolltest.Person(slug, 1))
		settle(o.t, o.Store, run)
	}
}
