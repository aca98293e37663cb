package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// These tests are about transactions that meet over mails: claims, corrections,
// notes of the relay and rounds.

// TestAClaimThatWaitedForAnotherMailbox: the address is corrected between the
// statement that locks the old one and the claim. Only the reminder goes to the
// new address.
func TestAClaimThatWaitedForAnotherMailbox(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	o.requireSent("confirmed 1")
	o.exec(`INSERT INTO mails (kind, run_id, ticket) SELECT 'reminder', run_id, ticket FROM requests WHERE ticket = 1`)
	reminder := o.due(1)[0]
	release := pgtest.Hold(t, o.url, `SELECT pg_advisory_xact_lock(1835100524, hashtext('p1@example.org'))`)
	corrected := make(chan error, 1)
	go func() { corrected <- o.correct(1, right) }()
	pgtest.AwaitLockWaiters(t, o.url, 1)
	claimed := make(chan error, 1)
	go func() {
		_, err := o.claim(reminder)
		claimed <- err
	}()
	pgtest.AwaitLockWaiters(t, o.url, 2)
	release()
	if err := <-corrected; err != nil {
		t.Fatal(err)
	}
	if err := <-claimed; enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("it was claimed under the lock of the old address: %v", err)
	}
	if m := o.mustClaim(reminder); m.To.Typed != right {
		t.Errorf("the reminder goes to %s", m.To.Typed)
	}
}

// TestNotesOfTheRelayWaitForNoRow, so that they cannot deadlock with a summary that
// takes mails along.
func TestNotesOfTheRelayWaitForNoRow(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1), person(2))
	due := o.due(2)
	release := pgtest.Hold(t, o.url, `SELECT FROM mails WHERE id = $1 FOR UPDATE`, due[0].ID)
	if replaced, err := o.ReplaceTasks(t.Context(), due[:1]); err != nil || len(replaced) > 0 {
		t.Errorf("replaced were %v, %v", replaced, err)
	}
	if err := o.MailsRelayed(t.Context(), due, time.Hour); err != nil {
		t.Error(err)
	}
	o.exec(`UPDATE mails SET due_at = now() + interval '1 hour' WHERE id = $1`, due[1].ID)
	if n, err := o.MendDueTimes(t.Context(), enroll.MailWaits{Held: 2 * time.Hour}); err != nil || n != 1 {
		t.Errorf("mended were %d, %v", n, err)
	}
	release()
}

// TestARunThatCannotBeWrittenForKeepsNoOtherFromItsRound, of notices and of
// reminders alike.
func TestARunThatCannotBeWrittenForKeepsNoOtherFromItsRound(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	other := enrolltest.OpenRun(t, o.Store, "b", enrolltest.Seats(2))
	accept(t, o.Store, enrolltest.Person("b", 2))
	settle(t, o.Store, other)
	o.sendAll()
	o.exec(`UPDATE runs SET starts_at = now() + id * interval '1 hour', ends_at = now() + interval '9 hours'`)
	o.exec(`UPDATE run_changes SET opened_at = opened_at - interval '1 hour' WHERE run_id = $1`, o.run)
	o.exec(`ALTER TABLE mails ADD CHECK (run_id <> 1 OR kind NOT IN ('changed', 'reminder')) NOT VALID`)
	if o.run != 1 {
		t.Fatalf("the run is %d", o.run)
	}
	written := func(kind enroll.MailKind) bool {
		return pgtest.Query[bool](t, o.url, `SELECT EXISTS (SELECT FROM mails WHERE kind = $1 AND run_id <> 1)`, kind)[0]
	}
	for range 200 { // each picks one of two runs
		if _, _, err := o.WriteChanges(t.Context(), 0, 100); err != nil && !strings.Contains(err.Error(), "notices") {
			t.Fatal(err)
		}
		if written(enroll.MailChanged) {
			break
		}
	}
	o.exec(`DELETE FROM run_changes`)
	o.exec(`UPDATE mails SET state = 'skipped', ended_at = now(), left_at = NULL WHERE kind = 'changed'`)
	o.exec(`UPDATE mails SET ended_at = ended_at - interval '30 days'`)
	for range 200 {
		_, _, _ = o.WriteReminders(t.Context(), 24*time.Hour, 100)
		if written(enroll.MailReminder) {
			break
		}
	}
	if !written(enroll.MailChanged) || !written(enroll.MailReminder) {
		t.Errorf("the other run gets nothing: %v", o.states())
	}
}
