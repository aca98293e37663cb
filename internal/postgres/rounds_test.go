package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// sendAll has everything that is due sent as it can be, and returns what was.
func (o *office) sendAll() (sent []enroll.Mail) {
	o.t.Helper()
	for {
		due, err := o.MailsDue(o.t.Context(), 1000)
		if err != nil {
			o.t.Fatal(err)
		}
		progress := false
		for _, d := range due {
			m, err := o.claim(d)
			if enroll.CodeOf(err) == enroll.NotFound {
				continue
			}
			if err != nil {
				o.t.Fatal(err)
			}
			progress = true
			if why := m.Obsolete(); why != "" {
				o.end(m, enroll.MailAttempt{State: enroll.MailSkipped, Problem: why})
				continue
			}
			o.end(m, enroll.MailAttempt{State: enroll.MailSent})
			sent = append(sent, m)
		}
		if !progress {
			return sent
		}
	}
}

// requireSent has everything sent that is due, and compares kind and ticket.
func (o *office) requireSent(want ...string) []enroll.Mail {
	o.t.Helper()
	sent := o.sendAll()
	var got []string
	for _, m := range sent {
		got = append(got, fmt.Sprintf("%s %d", m.Kind, m.About[0].Ticket))
	}
	requireSame(o.t, got, want)
	return sent
}

func requireSame(t *testing.T, got, want []string) {
	t.Helper()
	counts := make(map[string]int)
	for _, s := range got {
		counts[s]++
	}
	for _, s := range want {
		counts[s]--
	}
	for _, n := range counts {
		if n != 0 {
			t.Errorf("sent were %q, want %q", got, want)
			return
		}
	}
}

// writeChanges writes all notices that are due.
func (o *office) writeChanges(window time.Duration, most int) {
	o.t.Helper()
	for {
		_, found, err := o.WriteChanges(o.t.Context(), window, most)
		if err != nil {
			o.t.Fatal(err)
		}
		if !found {
			return
		}
	}
}

func (o *office) move(d time.Duration) {
	o.t.Helper()
	o.exec(`UPDATE runs SET starts_at = starts_at + $1::interval, ends_at = ends_at + $1::interval`, d)
}

func TestAChangeIsTold(t *testing.T) {
	t.Parallel()
	waits := func(o *office) { o.exec(`UPDATE runs SET waitlist_capacity = NULL`) }
	t.Run("to seats and places, with what they were told last and what is so now", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		waits(o)
		o.ask(person(1), person(2), person(3))
		o.requireSent("confirmed 1", "confirmed 2", "waitlisted 3")
		o.move(30 * 24 * time.Hour)
		o.writeChanges(0, 100)
		for _, m := range o.requireSent("changed 1", "changed 2", "changed 3") {
			e := m.About[0]
			if !e.Moved() || e.For.StartsAt.Sub(e.LastTold.Schedule.StartsAt) != 30*24*time.Hour || e.For.Revision != 1 || e.LastTold.Entry != (e.Ticket < 3) {
				t.Errorf("it tells %+v", e)
			}
		}
		o.writeChanges(0, 100)
		o.requireSent()
	})
	t.Run("of time, zone and location alike", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.requireSent("confirmed 1")
		for _, change := range []string{`time_zone = 'Europe/London'`, `location = 'Room 2'`, `ends_at = ends_at + interval '1 hour'`} {
			o.exec(`UPDATE runs SET ` + change)
			o.writeChanges(0, 100)
			o.requireSent("changed 1")
		}
		o.exec(`UPDATE runs SET capacity = 5, closes_at = closes_at - interval '1 minute'`)
		o.writeChanges(0, 100)
		o.requireSent()
	})
	t.Run("not if it was undone before the notice left", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(2))
		o.requireSent("confirmed 1", "confirmed 2")
		o.move(time.Hour)
		o.writeChanges(0, 100)
		o.move(-time.Hour)
		o.requireSent()
		o.writeChanges(0, 100)
		o.requireSent()
		if n := pgtest.Query[int](t, o.url, `SELECT count(*) FROM run_changes`)[0]; n != 0 {
			t.Errorf("%d changes are still to be told", n)
		}
	})
	t.Run("not to who registered afterwards, nor to who was told by another mail", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1)) // its confirmation has not left yet
		o.move(time.Hour)
		o.ask(person(2))
		o.writeChanges(0, 100)
		for _, m := range o.requireSent("confirmed 1", "confirmed 2") {
			if e := m.About[0]; e.For.Revision != 1 || e.Moved() {
				t.Errorf("it tells %+v", e)
			}
		}
	})
	t.Run("against what arrived last, whatever was sent again or may have arrived", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		confirmed := o.requireSent("confirmed 1")[0]
		o.move(time.Hour)
		if _, err := o.ResendMail(t.Context(), access.Operator, "a", confirmed.ID); err != nil {
			t.Fatal(err)
		}
		again := o.requireSent("confirmed 1")[0] // tells the new time, and that it is another
		if !again.About[0].Moved() {
			t.Error("it does not say what was told before")
		}
		o.writeChanges(0, 100)
		o.requireSent()

		o.move(time.Hour)
		o.writeChanges(0, 100)
		doubtful := o.mustClaim(o.due(1)[0])
		o.end(doubtful, enroll.MailAttempt{State: enroll.MailPending, Unanswered: true})
		o.move(time.Hour)
		last := o.requireSent("changed 1")[0]
		if got := last.About[0]; got.For.Revision != 3 || got.For.StartsAt.Sub(got.LastTold.Schedule.StartsAt) != 2*time.Hour {
			t.Errorf("it tells %+v", got)
		}
		o.ask(person(1)) // "you have a seat already" is no news of the time
		o.requireSent("already_registered 1")
		o.writeChanges(0, 100)
		o.requireSent()
	})
	t.Run("not of a run that is called off or over", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.requireSent("confirmed 1")
		o.exec(`UPDATE runs SET location = 'Room 2', called_off = true`)
		o.writeChanges(0, 100)
		o.requireMails("confirmed 1")
		o.exec(`UPDATE runs SET called_off = false, starts_at = now() - interval '2 days', ends_at = now() - interval '1 day'`)
		o.writeChanges(0, 100)
		o.requireMails("confirmed 1")
		// What was written before is not sent any more.
		o.exec(`UPDATE runs SET starts_at = now() - interval '1 hour', ends_at = now() + interval '1 hour'`)
		o.writeChanges(0, 100)
		o.requireMails("confirmed 1", "changed 1")
		o.exec(`UPDATE runs SET ends_at = now()`)
		o.requireSent()
		if problem := pgtest.Query[string](t, o.url, `SELECT state || ': ' || problem FROM mails WHERE kind = 'changed'`)[0]; problem != "skipped: overdue: the run is over" {
			t.Errorf("the organiser reads %q", problem)
		}
	})
	t.Run("a corrected address was told nothing", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.requireSent("confirmed 1")
		o.exec(`UPDATE requests SET email = 'right@example.org', email_key = 'right@example.org'`)
		o.move(time.Hour)
		o.writeChanges(0, 100)
		if e := o.requireSent("changed 1")[0].About[0]; e.LastTold.Status != "" || e.LastTold.Entry {
			t.Errorf("it was told %+v", e.LastTold)
		}
	})
}

// TestTheWindowOfAChange: the first change opens it, later ones do not prolong it.
func TestTheWindowOfAChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		starts, moved time.Duration // from the first change
		age           time.Duration // of the window
		want          bool          // it is over
	}{
		"ten minutes are not over":                        {24 * time.Hour, 48 * time.Hour, 9 * time.Minute, false},
		"ten minutes are over":                            {24 * time.Hour, 48 * time.Hour, 11 * time.Minute, true},
		"a tenth of the time to the old start is not":     {80 * time.Minute, 48 * time.Hour, 7 * time.Minute, false},
		"a tenth of the time to the old start is":         {80 * time.Minute, 48 * time.Hour, 9 * time.Minute, true},
		"a tenth of the time to the new start is":         {48 * time.Hour, 80 * time.Minute, 9 * time.Minute, true},
		"a minute before an hour is not":                  {50 * time.Minute, 48 * time.Hour, 50 * time.Second, false},
		"a minute before an hour is":                      {50 * time.Minute, 48 * time.Hour, 70 * time.Second, true},
		"a tenth of what is less than ten minutes is not": {5 * time.Minute, 48 * time.Hour, 20 * time.Second, false},
		"a tenth of what is less than ten minutes is":     {5 * time.Minute, 48 * time.Hour, 40 * time.Second, true},
		"of a run that has begun there is none":           {-time.Minute, 48 * time.Hour, 0, true},
		"one from the future is over":                     {24 * time.Hour, 48 * time.Hour, -time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.exec(`UPDATE runs SET starts_at = now() + $1::interval, ends_at = now() + interval '9 days'`, test.starts)
			o.exec(`DELETE FROM run_changes`)
			o.exec(`UPDATE runs SET starts_at = now() + $1::interval`, test.moved)
			o.exec(`UPDATE run_changes SET opened_at = opened_at - $1::interval`, test.age)
			o.exec(`UPDATE run_revisions SET starts_at = starts_at - $1::interval`, test.age)
			o.exec(`UPDATE runs SET location = 'Room 2'`) // prolongs nothing
			if _, found, err := o.WriteChanges(t.Context(), 10*time.Minute, 10); err != nil || found != test.want {
				t.Errorf("notices are written: %v (%v)", found, err)
			}
		})
	}
}

// TestNoticesAreWrittenFromACursor: each person once, whoever writes, dies or
// moves the run meanwhile.
func TestNoticesAreWrittenFromACursor(t *testing.T) {
	t.Parallel()
	const people = 25
	crowd := func(t *testing.T) *office {
		o := newOffice(t)
		o.exec(`UPDATE runs SET capacity = 20, waitlist_capacity = NULL`)
		var all []enroll.RegisterInput
		for n := range people {
			all = append(all, person(n))
		}
		o.ask(all...)
		if sent := o.sendAll(); len(sent) != people {
			t.Fatalf("%d were told", len(sent))
		}
		return o
	}
	written := func(o *office) (count, most int) {
		return pgtest.Query[int](o.t, o.url, `SELECT count(*) FROM mails WHERE kind = 'changed'`)[0],
			pgtest.Query[int](o.t, o.url, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM mails WHERE kind = 'changed' GROUP BY ticket) x`)[0]
	}
	step := func(o *office) int {
		o.t.Helper()
		n, _, err := o.WriteChanges(o.t.Context(), 0, 4)
		if err != nil {
			o.t.Fatal(err)
		}
		return n
	}
	t.Run("by several at once", func(t *testing.T) {
		t.Parallel()
		o := crowd(t)
		o.move(time.Hour)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 40 {
					if _, _, err := o.WriteChanges(context.Background(), 0, 3); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n, most := written(o); n != people || most != 1 {
			t.Errorf("%d notices, at most %d for one person", n, most)
		}
	})
	t.Run("by one who dies in the middle of a batch", func(t *testing.T) {
		t.Parallel()
		o := crowd(t)
		o.move(time.Hour)
		step(o)
		o.exec(`ALTER TABLE mails ADD CONSTRAINT dies CHECK (kind <> 'changed' OR ticket <> 6)`)
		if _, _, err := o.WriteChanges(t.Context(), 0, 4); err == nil {
			t.Error("it was written")
		}
		if n, _ := written(o); n != 4 {
			t.Errorf("%d notices, want 4", n)
		}
		o.exec(`ALTER TABLE mails DROP CONSTRAINT dies`)
		o.writeChanges(0, 4)
		if n, most := written(o); n != people || most != 1 {
			t.Errorf("%d notices, at most %d for one person", n, most)
		}
	})
	t.Run("of a run that moves again meanwhile", func(t *testing.T) {
		t.Parallel()
		o := crowd(t)
		o.move(time.Hour)
		step(o)
		o.requireSent("changed 1", "changed 2", "changed 3", "changed 4")
		o.move(time.Hour)
		step(o) // of the first window, and tells the newest time
		o.requireSent("changed 5", "changed 6", "changed 7", "changed 8")
		o.writeChanges(0, 4)
		o.sendAll()
		told := pgtest.Query[string](t, o.url, `
			SELECT ticket || ' ' || string_agg(revision::text, ' ' ORDER BY left_at) FROM mails WHERE kind = 'changed' AND state = 'sent' GROUP BY ticket ORDER BY ticket`)
		if len(told) != people {
			t.Fatalf("told were %q", told)
		}
		for i, got := range told {
			want := fmt.Sprintf("%d 2", i+1)
			if i < 4 {
				want = fmt.Sprintf("%d 1 2", i+1)
			}
			if got != want {
				t.Errorf("ticket and revisions are %q, want %q", got, want)
			}
		}
	})
	t.Run("and who is seated behind the cursor hears of it by the mail that says so", func(t *testing.T) {
		t.Parallel()
		o := crowd(t)
		accept(t, o.Store, enrolltest.Person("a", 100)) // ticket 26, undecided
		o.move(time.Hour)
		for step(o) == 4 { // to the end of the line
		}
		settle(t, o.Store, o.run)
		for _, m := range o.sendAll() {
			if e := m.About[0]; e.Ticket > people && (m.Kind != enroll.MailWaitlisted || e.For.Revision != 1) {
				t.Errorf("it was told %s of revision %d", m.Kind, e.For.Revision)
			}
		}
		if n, most := written(o); n != people || most != 1 {
			t.Errorf("%d notices, at most %d for one person", n, most)
		}
	})
}

func TestReminders(t *testing.T) {
	t.Parallel()
	remind := func(o *office, before time.Duration, most int) {
		o.t.Helper()
		for {
			_, found, err := o.WriteReminders(o.t.Context(), before, most)
			if err != nil {
				o.t.Fatal(err)
			}
			if !found {
				return
			}
		}
	}
	// daysAgo makes all that was told older.
	daysAgo := func(o *office) {
		o.exec(`UPDATE mails SET due_at = due_at - interval '2 days', ended_at = ended_at - interval '2 days', left_at = left_at - interval '2 days'`)
	}
	t.Run("once for a start, to everybody who is seated", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(2), person(3))
		o.requireSent("confirmed 1", "confirmed 2")
		daysAgo(o)
		remind(o, time.Hour, 1) // it begins in two
		o.requireSent()
		remind(o, 3*time.Hour, 1)
		remind(o, 3*time.Hour, 1)
		o.requireSent("reminder 1", "reminder 2")
		remind(o, 3*time.Hour, 1)
		o.requireSent()
		o.exec(`UPDATE runs SET starts_at = now() - interval '1 second'`)
		o.exec(`DELETE FROM run_reminders`)
		remind(o, 3*time.Hour, 1)
		o.requireSent() // it has begun
	})
	t.Run("not after a mail that told the start within the time it is reminded of", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.requireSent("confirmed 1")
		remind(o, 3*time.Hour, 10)
		o.requireSent()
	})
	t.Run("again when the start has moved", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(2))
		o.requireSent("confirmed 1", "confirmed 2")
		daysAgo(o)
		remind(o, 3*time.Hour, 10)
		o.requireSent("reminder 1", "reminder 2")
		o.move(30 * 24 * time.Hour)
		remind(o, 3*time.Hour, 10)
		o.writeChanges(0, 10)
		o.requireSent("changed 1", "changed 2")
		o.move(-29 * 24 * time.Hour)
		o.writeChanges(0, 10)
		o.requireSent("changed 1", "changed 2")
		daysAgo(o)
		remind(o, 48*time.Hour, 10)
		o.requireSent("reminder 1", "reminder 2")
	})
	t.Run("a late seat whose run moves near is told once", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.move(30 * 24 * time.Hour)
		o.writeChanges(0, 10)
		o.ask(person(1))
		o.requireSent("confirmed 1")
		o.exec(`UPDATE runs SET starts_at = now() + interval '12 hours', ends_at = now() + interval '13 hours'`)
		remind(o, 24*time.Hour, 10) // waits for the notices
		o.requireSent()
		o.writeChanges(0, 10)
		remind(o, 24*time.Hour, 10)
		o.requireSent("changed 1")
		remind(o, 24*time.Hour, 10)
		o.requireSent()
	})
	t.Run("by one at a time, in batches, each seat once", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.exec(`UPDATE runs SET capacity = NULL`)
		for n := range 10 {
			o.ask(person(n))
		}
		o.sendAll()
		daysAgo(o)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					if _, _, err := o.WriteReminders(context.Background(), 3*time.Hour, 3); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := pgtest.Query[int](t, o.url, `SELECT count(DISTINCT ticket) FROM mails WHERE kind = 'reminder'`)[0]; n != 10 {
			t.Errorf("%d were reminded", n)
		}
		if n := len(o.sendAll()); n != 10 {
			t.Errorf("%d reminders were sent", n)
		}
	})
	t.Run("one that was sent again does not stand in the way of the next", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.requireSent("confirmed 1")
		daysAgo(o)
		remind(o, 3*time.Hour, 10)
		first := o.requireSent("reminder 1")[0]
		if _, err := o.ResendMail(t.Context(), access.Operator, "a", first.ID); err != nil {
			t.Fatal(err)
		}
		o.requireSent("reminder 1")
		o.move(24 * time.Hour)
		o.writeChanges(0, 10)
		o.requireSent("changed 1")
		daysAgo(o)
		remind(o, 48*time.Hour, 10)
		o.requireSent("reminder 1")
	})
}
