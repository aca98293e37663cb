package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// These tests are about what a person may have been told: by an attempt whose
// answer was lost, by a summary, or at an address that was corrected since.

// TestAnEntryThatMayHaveArrivedIsRemoved: an attempt to send the confirmation may
// have arrived, and a later one ended without leaving.
func TestAnEntryThatMayHaveArrivedIsRemoved(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]struct {
		ended *enroll.MailAttempt // nil: the worker died
		entry bool
	}{
		"unanswered":              {&enroll.MailAttempt{State: enroll.MailPending, Unanswered: true}, true},
		"the worker died":         {nil, true},
		"it certainly did not go": {&enroll.MailAttempt{State: enroll.MailPending}, false},
	} {
		for _, last := range []enroll.MailState{enroll.MailSkipped, enroll.MailFailed} {
			t.Run(name+", then "+string(last), func(t *testing.T) {
				t.Parallel()
				o := newOffice(t)
				o.ask(person(1))
				m := o.mustClaim(o.due(1)[0])
				if first.ended != nil {
					o.end(m, *first.ended)
				}
				o.pass(time.Hour)
				o.end(o.mustClaim(o.due(1)[0]), enroll.MailAttempt{State: last, Problem: "it did not leave"})
				o.cancel(1)
				told := o.requireSent("cancelled 1")[0].About[0].LastTold
				if told.Seat != first.entry || told.Entry != first.entry {
					t.Errorf("it was told %+v", told)
				}
			})
		}
	}
}

// TestASummaryRemovesTheEntryThatItsFirstAttemptMayHaveTold: the summary overwrites
// what its own first attempt told, and what the mails that joined it told.
func TestASummaryRemovesTheEntryThatItsFirstAttemptMayHaveTold(t *testing.T) {
	t.Parallel()
	for _, unanswered := range []bool{true, false} {
		o := newOffice(t)
		o.pace = pace
		o.ask(person(1))
		o.requireSent("confirmed 1")
		o.cancel(1)
		o.requireSent("cancelled 1")
		o.ask(person(1)) // ticket 3
		o.requireSent()  // it joins a summary
		o.pass(pace)
		o.end(o.mustClaim(o.due(1)[0]), enroll.MailAttempt{State: enroll.MailPending, Unanswered: unanswered})
		o.cancel(3)
		o.pass(pace)
		for _, m := range o.sendAll() {
			for _, e := range m.About {
				if want := unanswered && e.Ticket == 3; e.LastTold.Entry != want {
					t.Errorf("unanswered %t: ticket %d was told %+v", unanswered, e.Ticket, e.LastTold)
				}
			}
		}
	}
}

// TestALongSummaryKeepsTheEntryThatASummaryTold has an address ask more often than
// a summary lists. The registration whose seat a summary told comes before newer ones.
func TestALongSummaryKeepsTheEntryThatASummaryTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1), person(1))
	const seat = 1
	o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key, state, ended_at, recipient, left_at)
		SELECT 'summary', run_id, ticket, email_key, 'sent', now(), hashtextextended(email_key, 0), now() FROM requests WHERE ticket = 2`)
	o.exec(`UPDATE mails m SET state = 'skipped', ended_at = now(), told_status = 'confirmed', revision = 0, recipient = s.recipient, told_by = s.id
		FROM mails s WHERE s.kind = 'summary' AND m.kind <> 'summary'`)
	o.cancel(seat)
	pgtest.Damage(t, o.url, `
		INSERT INTO requests (run_id, ticket, id, kind, status, reason, name, email, email_key, accepted_at, decided_at)
		SELECT run_id, n, gen_random_uuid(), 'register', 'rejected', 'full', name, email, email_key, now(), now()
		FROM requests, generate_series(10, 130) n WHERE ticket = 2`)
	o.exec(`UPDATE mails SET state = 'skipped', ended_at = now() WHERE state = 'pending'`)
	o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key, sequence) SELECT 'summary', run_id, 2, email_key, 1 FROM requests WHERE ticket = 2`)
	m := o.mustClaim(o.due(1)[0])
	i := slices.IndexFunc(m.About, func(e enroll.Enrolment) bool { return e.Ticket == seat })
	if !m.More || i < 0 || !m.About[i].LastTold.Entry {
		t.Errorf("of %d registrations, the one with the entry is at %d", len(m.About), i)
	}
}

// TestASummaryAndItsMailsKeepTheirAddress after a correction.
func TestASummaryAndItsMailsKeepTheirAddress(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.pace = pace
	o.ask(person(1))
	o.requireSent("confirmed 1")
	o.cancel(1)
	o.requireSent("cancelled 1")
	o.ask(person(1)) // ticket 3
	o.requireSent()
	o.pass(pace)
	if sent := o.sendAll(); len(sent) != 1 || sent[0].Kind != enroll.MailSummary {
		t.Fatalf("sent were %+v", sent)
	}
	o.mustCorrect(3, right)
	old := person(1).Email
	o.requireOutbox(3, "confirmed 0 skipped "+old, "summary 0 sent "+old, "confirmed 1 pending "+right, "mistaken_address 0 pending "+old)
}

// TestASummaryToTheOldAddressStillLeaves when one of its registrations has another
// address by then.
func TestASummaryToTheOldAddressStillLeaves(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1), person(1))
	o.exec(`DELETE FROM mails`)
	o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key) SELECT 'summary', run_id, ticket, email_key FROM requests WHERE ticket = 1`)
	o.mustCorrect(1, right)
	m := o.claimKind(enroll.MailSummary)
	if m.Outdated || m.To.Typed != person(1).Email || len(m.About) != 1 || m.About[0].Ticket != 2 {
		t.Errorf("it is %+v", m)
	}
}

// TestASummaryTakesNoMailAlongThatIsOnItsWayToAnotherAddress: the registration came
// to the summary's address by a correction.
func TestASummaryTakesNoMailAlongThatIsOnItsWayToAnotherAddress(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	on := o.mustClaim(o.due(1)[0])
	o.mustCorrect(1, right)
	o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key) SELECT 'summary', run_id, ticket, email_key FROM requests WHERE ticket = 1`)
	o.claimKind(enroll.MailSummary)
	o.end(on, enroll.MailAttempt{State: enroll.MailSent})
	if got := o.outbox(1); !slices.Contains(got, "confirmed 0 sent "+person(1).Email) {
		t.Errorf("the outbox has %q", got)
	}
}

// TestAReceiptInASummaryOutlivesTheRun, as it would by itself; a reminder does not
// outlive the begin.
func TestAReceiptInASummaryOutlivesTheRun(t *testing.T) {
	t.Parallel()
	for kind, test := range map[enroll.MailKind]struct{ begun, over bool }{
		enroll.MailCancelled: {false, false},
		enroll.MailConfirmed: {false, true},
		enroll.MailReminder:  {true, true},
	} {
		o := newOffice(t)
		o.ask(person(1))
		o.exec(`UPDATE mails SET kind = $1`, kind)
		o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key) SELECT 'summary', run_id, ticket, email_key FROM requests WHERE ticket = 1`)
		m := o.claimKind(enroll.MailSummary)
		m.Now = m.About[0].For.StartsAt.Add(time.Minute)
		if overdue := m.Overdue() != ""; overdue != test.begun {
			t.Errorf("with a mail %s, it is overdue after the begin: %t", kind, overdue)
		}
		m.Now = m.About[0].For.EndsAt.Add(time.Minute)
		if overdue := m.Overdue() != ""; overdue != test.over {
			t.Errorf("with a mail %s, it is overdue after the end: %t", kind, overdue)
		}
	}
}

// TestWhatASummaryTellsIsNotToldAgain: no mail waits for a registration, the
// summary tells its new time, and then the round of the change is written.
func TestWhatASummaryTellsIsNotToldAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.ask(person(1))
	o.requireSent("confirmed 1")
	o.move(time.Hour)
	o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key) SELECT 'summary', run_id, ticket, email_key FROM requests WHERE ticket = 1`)
	o.requireSent("summary 1")
	o.exec(`DELETE FROM mails WHERE kind = 'summary' AND told_by IS NOT NULL`) // there is none
	o.writeChanges(0, 100)
	o.requireSent()
	// So for a registration that is not the summary's own.
	o.ask(person(2), person(2)) // tickets 2 and 3
	o.requireSent("confirmed 2", "already_registered 2")
	o.move(time.Hour)
	o.exec(`INSERT INTO mails (kind, run_id, ticket, email_key) SELECT 'summary', run_id, ticket, email_key FROM requests WHERE ticket = 3`)
	sent := o.sendAll()
	if len(sent) != 1 || len(sent[0].About) != 2 {
		t.Fatalf("sent were %+v", sent)
	}
	o.writeChanges(0, 100)
	o.requireSent("changed 1")
}
