package postgres_test

import (
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// These tests are about news that reached nobody: a mail that was taken for told,
// a reminder that was taken for written, and times from the future.

// TestTheApologyTakesNoMailIn has the owner of a mistaken address ask for a seat
// herself. Only a summary takes other mails in.
func TestTheApologyTakesNoMailIn(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]time.Duration{"without pacing": 0, "with pacing": pace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.pace = held
			o.ask(person(1))
			o.requireSent("confirmed 1")
			o.mustCorrect(1, "right@example.org")
			o.ask(person(1)) // ticket 2
			o.sendAll()
			for range 2 { // what is held leaves later
				o.pass(pace)
				o.sendAll()
			}
			told := pgtest.Query[int64](t, o.url, `
				SELECT count(*) FROM mails m LEFT JOIN mails s ON s.id = m.told_by
				WHERE m.ticket = 2 AND m.kind = 'confirmed' AND coalesce(s.kind = 'summary' AND s.state = 'sent', m.state = 'sent')`)[0]
			if told != 1 {
				t.Errorf("the owner of the address is not told of her own seat: %v", o.states())
			}
		})
	}
}

// TestASummaryOnItsWayTakesNoMailIn has the task of a summary come twice: the first
// attempt has read what it tells before the second is made.
func TestASummaryOnItsWayTakesNoMailIn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.pace = pace
	o.ask(person(1))
	o.requireSent("confirmed 1")
	o.cancel(1)
	o.requireSent("cancelled 1")
	o.ask(person(1)) // ticket 3
	o.requireSent()  // it joins a summary
	o.pass(pace)
	due := o.due(1)[0]
	summary := o.mustClaim(due)
	o.cancel(3)
	o.mustNotClaim(due)
	o.end(summary, enroll.MailAttempt{State: enroll.MailSent})
	for range 3 {
		o.pass(pace)
		if sent := o.sendAll(); len(sent) > 0 {
			if status := sent[0].About[0].Status; status != enroll.Cancelled {
				t.Errorf("the next mail tells %s", status)
			}
			return
		}
	}
	t.Errorf("the cancellation is never told: %v", o.states())
}

// remindable makes a ledger of two people who were told of their seats two days
// before their run is to be reminded of.
func remindable(t *testing.T) *office {
	t.Helper()
	o := newOffice(t)
	o.ask(person(1), person(2))
	o.requireSent("confirmed 1", "confirmed 2")
	o.exec(`UPDATE mails SET due_at = due_at - interval '2 days', ended_at = ended_at - interval '2 days', left_at = left_at - interval '2 days'`)
	o.exec(`UPDATE requests SET accepted_at = accepted_at - interval '2 days', decided_at = decided_at - interval '2 days'`)
	o.exec(`UPDATE runs SET starts_at = now() + interval '23 hours 59 minutes', ends_at = now() + interval '30 hours'`)
	o.exec(`DELETE FROM run_changes`)
	o.exec(`DELETE FROM run_revisions`)
	o.exec(`INSERT INTO run_revisions SELECT id, n, starts_at, ends_at, time_zone, location, '-infinity' FROM runs, generate_series(0, revision) n`)
	return o
}

func (o *office) remind() (seats int, found bool) {
	o.t.Helper()
	seats, found, err := o.WriteReminders(o.t.Context(), 24*time.Hour, 1000)
	if err != nil {
		o.t.Fatal(err)
	}
	return seats, found
}

// TestARunMovesWhileItsRemindersAreWritten holds the second statement up, so that
// the move comes between the two.
func TestARunMovesWhileItsRemindersAreWritten(t *testing.T) {
	t.Parallel()
	o := remindable(t)
	release := pgtest.Hold(t, o.url, `LOCK TABLE attendances IN ACCESS EXCLUSIVE MODE`)
	done := make(chan error, 1)
	go func() {
		_, _, err := o.WriteReminders(t.Context(), 24*time.Hour, 1000)
		done <- err
	}()
	pgtest.AwaitLockWaiters(t, o.url, 1)
	o.move(30 * 24 * time.Hour)
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if written := pgtest.Query[string](t, o.url, `SELECT run_reminders::text FROM run_reminders`); len(written) > 0 {
		t.Errorf("the reminders of the new start count as written: %q", written)
	}
}

// TestAReminderThatWasSkippedWhileItsRunWasPutOff is due again when the run is
// back where it was.
func TestAReminderThatWasSkippedWhileItsRunWasPutOff(t *testing.T) {
	t.Parallel()
	o := remindable(t)
	if seats, found := o.remind(); seats != 2 || !found {
		t.Fatalf("%d seats were looked at", seats)
	}
	due := o.due(2)
	o.end(o.mustClaim(due[0]), enroll.MailAttempt{State: enroll.MailSent})
	o.move(48 * time.Hour)
	o.end(o.mustClaim(due[1]), enroll.MailAttempt{State: enroll.MailSkipped, Problem: "superseded: the run was put off"})
	o.move(-48 * time.Hour)
	o.writeChanges(0, 100)
	o.remind()
	sent := o.sendAll()
	if len(sent) != 1 || sent[0].Kind != enroll.MailReminder {
		t.Errorf("one of the two is to be reminded still, and %d mails were sent: %v", len(sent), o.states())
	}
}

// TestTheClockWasSetBackBetweenTwoMoves has the mail before the moves left in what
// is the future by then. It must not count as told last.
func TestTheClockWasSetBackBetweenTwoMoves(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	o.requireSent("confirmed 1")
	o.pass(-time.Hour)
	o.exec(`UPDATE requests SET accepted_at = accepted_at + interval '1 hour', decided_at = decided_at + interval '1 hour'`)
	o.exec(`UPDATE lines SET last_accepted_at = last_accepted_at + interval '1 hour'`)
	for _, by := range []time.Duration{48 * time.Hour, -48 * time.Hour} {
		o.move(by)
		o.writeChanges(0, 100)
		o.requireSent("changed 1")
	}
}

// TestLinksAfterTheClockWasSetBack asks for links again a day earlier: the mail of
// before lies in the future, and does not hold the new one back.
func TestLinksAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	ask := func() {
		t.Helper()
		address, err := enroll.ParseAddress("p1@example.org")
		if err != nil {
			t.Fatal(err)
		}
		if err := o.RequestLinks(t.Context(), address.Key); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	o.sendAll()
	o.pass(-24 * time.Hour)
	ask()
	if sent := o.sendAll(); len(sent) != 1 {
		t.Errorf("%d mails were sent, want the links", len(sent))
	}
}

// TestAnAddressAsksAgainAfterTheClockWasSetBack, as in TestLinksAfterTheClockWasSetBack,
// for the two mails that any client can cause.
func TestAnAddressAsksAgainAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	t.Run("having a seat", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.ask(person(1))
		o.requireSent("confirmed 1", "already_registered 1")
		o.pass(-24 * time.Hour)
		o.ask(person(1))
		o.requireSent("already_registered 1")
	})
	t.Run("having none", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.exec(`UPDATE runs SET capacity = 0`)
		wants := person(1)
		wants.Notify = true
		o.ask(wants)
		o.requireSent("full 1")
		o.pass(-24 * time.Hour)
		o.ask(wants)
		o.requireSent("full 2")
	})
}
