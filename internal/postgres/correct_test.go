package postgres_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

const right = "Right@example.org"

// correct gives the registration another address.
func (o *office) correct(ticket int64, email string) error {
	o.t.Helper()
	address, err := enroll.ParseAddress(email)
	if err != nil {
		o.t.Fatal(err)
	}
	return o.CorrectPerson(o.t.Context(), access.Operator, "a", ticket, "Right Person", address)
}

func (o *office) mustCorrect(ticket int64, email string) {
	o.t.Helper()
	if err := o.correct(ticket, email); err != nil {
		o.t.Fatal(err)
	}
}

// outbox returns the mails of a registration as organisers see them: kind, sequence,
// state and address, by age.
func (o *office) outbox(ticket int64) []string {
	o.t.Helper()
	mails, err := o.Mails(o.t.Context(), "a", enroll.MailQuery{Ticket: ticket})
	if err != nil {
		o.t.Fatal(err)
	}
	var all []string
	for _, m := range mails {
		all = append(all, strings.TrimRight(strings.Join([]string{string(m.Kind), string(rune('0' + m.Sequence)), string(m.State), m.To}, " "), " "))
	}
	slices.Sort(all)
	return all
}

func (o *office) requireOutbox(ticket int64, want ...string) {
	o.t.Helper()
	slices.Sort(want)
	if got := o.outbox(ticket); !slices.Equal(got, want) {
		o.t.Errorf("the outbox has\n%q, want\n%q", got, want)
	}
}

// claimKind claims the mail of that kind that is due.
func (o *office) claimKind(kind enroll.MailKind) enroll.Mail {
	o.t.Helper()
	id := pgtest.Query[uuid.UUID](o.t, o.url, `SELECT id FROM mails WHERE kind = $1 AND state = 'pending'`, kind)
	attempts := pgtest.Query[int](o.t, o.url, `SELECT attempts FROM mails WHERE kind = $1 AND state = 'pending'`, kind)
	if len(id) != 1 {
		o.t.Fatalf("%d mails of kind %s wait", len(id), kind)
	}
	return o.mustClaim(enroll.DueMail{ID: id[0], Attempts: attempts[0]})
}

func TestCorrectedAddress(t *testing.T) {
	t.Parallel()
	id := func(o *office, ticket int64) uuid.UUID {
		return pgtest.Query[uuid.UUID](o.t, o.url, `SELECT id FROM requests WHERE ticket = $1`, ticket)[0]
	}

	t.Run("gets a new id, and the old one is retired", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(2))
		old := id(o, 1)
		o.mustCorrect(1, right)
		renewed := id(o, 1)
		found, err := o.Registrations(t.Context(), []uuid.UUID{old, renewed, uuid.New()})
		if err != nil || len(found) != 2 {
			t.Fatalf("got %+v, %v", found, err)
		}
		for _, r := range found {
			if want := r.ID == old; r.Retired != want || want && r != (enroll.Registration{ID: old, Retired: true}) {
				t.Errorf("got %+v", r)
			}
		}
		o.mustCorrect(1, "other@example.org")
		if n := pgtest.Query[int64](t, o.url, `SELECT count(*) FROM retired_ids WHERE ticket = 1`)[0]; n != 2 {
			t.Errorf("%d ids are retired", n)
		}
		o.requireFindings(doctor.Options{})
	})

	t.Run("keeps its id where only the name or the spelling changes", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		old := id(o, 1)
		o.mustCorrect(1, strings.ToUpper(person(1).Email[:1])+person(1).Email[1:])
		if id(o, 1) != old {
			t.Error("it has another id")
		}
		o.requireMails("confirmed 1")
	})

	t.Run("waits while a cancel is undecided", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		accept(t, o.Store, enroll.NewCancel("a", 1, false))
		if err := o.correct(1, right); enroll.CodeOf(err) != enroll.CancelWaits {
			t.Errorf("got %v", err)
		}
		settle(t, o.Store, o.run)
		if err := o.correct(1, right); enroll.CodeOf(err) != enroll.NotHeld {
			t.Errorf("got %v", err)
		}
	})

	t.Run("takes the line's lock, so that nobody cancels by the old id meanwhile", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		cancel := enroll.NewCancel("a", 1, false)
		cancel.Shown = id(o, 1) // read before the correction
		release := pgtest.Hold(t, o.url, `SELECT FROM runs FOR UPDATE`)
		var wg sync.WaitGroup
		wg.Go(func() { o.mustCorrect(1, right) })
		pgtest.AwaitLockWaiters(t, o.url, 1) // it has the line
		wg.Go(func() {
			results, err := o.Accept(t.Context(), []enroll.Submission{cancel})
			if err != nil || enroll.CodeOf(results[0].Err) != enroll.Corrected {
				t.Errorf("got %+v, %v", results, err)
			}
		})
		pgtest.AwaitLockWaiters(t, o.url, 2)
		release()
		wg.Wait()
		cancel = enroll.NewCancel("a", 1, false)
		cancel.Shown = id(o, 1)
		accept(t, o.Store, cancel)
		settle(t, o.Store, o.run)
		if r, err := o.RegistrationAt(t.Context(), "a", 1); err != nil || r.Status != enroll.Cancelled {
			t.Errorf("got %+v, %v", r, err)
		}
	})

	t.Run("is found by a try whose outcome was unknown", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		first := []enroll.Submission{enrolltest.Person("a", 1), enrolltest.Submission("a", "p2@example.org", "k")}
		accept(t, o.Store, first...)
		settle(t, o.Store, o.run)
		o.mustCorrect(1, right)
		for i, result := range acceptAgain(t, o.Store, first...) {
			_, err := result.Receipt.CheckAgainst(first[i])
			if want := []enroll.Code{enroll.Corrected, ""}[i]; result.Err != nil || enroll.CodeOf(err) != want {
				t.Errorf("submission %d: got %+v, %v", i, result, err)
			}
		}
		if n := pgtest.Query[int64](t, o.url, `SELECT count(*) FROM requests`)[0]; n != 2 {
			t.Errorf("%d requests are in the line", n)
		}
	})

	t.Run("leaves no name with the old address, unless it asked for more", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(2))
		enrolltest.OpenRun(t, o.Store, "b", nil)
		accept(t, o.Store, enrolltest.Submission("b", person(2).Email, ""))
		o.mustCorrect(1, right)
		o.mustCorrect(2, "right-too@example.org")
		for email, want := range map[string]string{person(1).Email: "", person(2).Email: "A Person", "right@example.org": "Right Person"} {
			if got := pgtest.Query[string](t, o.url, `SELECT name FROM users WHERE email_key = $1`, email); len(got) != 1 || got[0] != want {
				t.Errorf("%s is %q, want %q", email, got, want)
			}
		}
	})
}

// TestCorrectedAddress_mails: who is told what, whatever the mails were doing at
// the instant of the correction.
func TestCorrectedAddress_mails(t *testing.T) {
	t.Parallel()
	sent := enroll.MailAttempt{State: enroll.MailSent}
	wrong := person(1).Email

	t.Run("a mail that waited is skipped for a fresh one", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.mustCorrect(1, right)
		o.requireOutbox(1, "confirmed 0 skipped "+right, "confirmed 1 pending "+right, "mistaken_address 0 pending "+wrong)
		if m := o.claimKind(enroll.MailConfirmed); m.To.Typed != right || m.Superseded() || m.About[0].Name != "Right Person" {
			t.Errorf("got %+v", m)
		}
	})

	t.Run("a mail that was sent shows where it went", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.end(o.claimKind(enroll.MailConfirmed), sent)
		o.mustCorrect(1, right)
		o.end(o.claimKind(enroll.MailConfirmed), sent)
		o.mustCorrect(1, "third@example.org")
		o.requireOutbox(1, "confirmed 0 sent "+wrong, "confirmed 1 sent "+right, "confirmed 2 pending third@example.org",
			"mistaken_address 0 pending "+wrong, "mistaken_address 1 pending "+right)
		o.exec(`UPDATE mails SET state = 'sent', ended_at = now() WHERE kind = 'confirmed' AND state = 'pending'`)
		first := pgtest.Query[uuid.UUID](t, o.url, `SELECT id FROM mails WHERE kind = 'confirmed' AND sequence = 0`)[0]
		if m, err := o.ResendMail(t.Context(), access.Operator, "a", first); err != nil || m.To != "third@example.org" || m.State != enroll.MailPending {
			t.Errorf("sent again, it is %+v, %v", m, err)
		}
	})

	t.Run("the apology forgets the address when it ends", func(t *testing.T) {
		t.Parallel()
		for _, end := range []enroll.MailAttempt{
			sent, {State: enroll.MailSkipped, Problem: "overdue"}, {State: enroll.MailFailed, Problem: "550 no such user " + wrong},
		} {
			o := newOffice(t)
			o.ask(person(1))
			o.mustCorrect(1, right)
			m := o.claimKind(enroll.MailMistakenAddress)
			if m.To.Typed != wrong || m.Superseded() {
				t.Errorf("got %+v", m)
			}
			o.end(m, enroll.MailAttempt{State: enroll.MailPending, Problem: "450 try later " + wrong})
			o.end(o.claimKind(enroll.MailMistakenAddress), end)
			kept := pgtest.Query[string](t, o.url, `SELECT to_jsonb(m)::text FROM mails m WHERE kind = 'mistaken_address'`)
			if len(kept) != 1 || strings.Contains(kept[0], wrong) || !strings.Contains(kept[0], `"recipient": null`) {
				t.Errorf("it keeps %s", kept)
			}
			o.requireOutbox(1, "confirmed 0 skipped "+right, "confirmed 1 pending "+right, "mistaken_address 0 "+string(end.State))
			if _, err := o.ResendMail(t.Context(), access.Operator, "a", m.ID); enroll.CodeOf(err) != enroll.Corrected {
				t.Errorf("sending it again got %v", err)
			}
		}
	})

	t.Run("an apology that waits is returned when it is to be sent again", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.mustCorrect(1, right)
		id := pgtest.Query[uuid.UUID](t, o.url, `SELECT id FROM mails WHERE kind = 'mistaken_address'`)[0]
		if m, err := o.ResendMail(t.Context(), access.Operator, "a", id); err != nil || m.ID != id {
			t.Errorf("got %+v, %v", m, err)
		}
	})

	t.Run("a mail on its way is not tried again", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		m := o.claimKind(enroll.MailConfirmed)
		o.mustCorrect(1, right)
		o.requireOutbox(1, "confirmed 0 pending "+wrong, "confirmed 1 pending "+right, "mistaken_address 0 pending "+wrong)
		o.end(m, enroll.MailAttempt{State: enroll.MailPending, Problem: "450 try later"})
		again := o.mustClaim(enroll.DueMail{ID: m.ID, Attempts: m.Attempt})
		if !again.Superseded() {
			t.Errorf("it would be sent: %+v", again)
		}
	})

	t.Run("a mail on its way, whose worker died, neither", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		m := o.claimKind(enroll.MailConfirmed)
		o.exec(`UPDATE mails SET claimed_until = now() - interval '1 second'`)
		o.mustCorrect(1, right)
		if again := o.mustClaim(enroll.DueMail{ID: m.ID, Attempts: m.Attempt}); !again.Superseded() {
			t.Errorf("it would be sent: %+v", again)
		}
	})

	t.Run("to and fro apologises to nobody whose it is", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		o.mustCorrect(1, right)
		o.mustCorrect(1, wrong)
		ids := pgtest.Query[uuid.UUID](t, o.url, `SELECT id FROM mails WHERE kind = 'mistaken_address' ORDER BY sequence`)
		if len(ids) != 2 {
			t.Fatalf("got %v", ids)
		}
		for i, superseded := range []bool{true, false} {
			m := o.mustClaim(enroll.DueMail{ID: ids[i]})
			if m.Superseded() != superseded {
				t.Errorf("apology %d to %s: superseded is %t", i, m.To.Typed, m.Superseded())
			}
			o.end(m, sent)
		}
	})

	t.Run("a place on the list is told with its place, and a reminder goes to the new address", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), ask(4))
		o.settleAll()
		o.exec(`DELETE FROM mails`)
		o.exec(`INSERT INTO mails (kind, run_id, ticket) VALUES ('reminder', $1, 1)`, o.run)
		o.mustCorrect(4, right)
		m := o.claimKind(enroll.MailWaitlisted)
		if m.To.Typed != right || m.About[0].WaitlistPosition != 2 {
			t.Errorf("got %+v", m)
		}
		o.mustCorrect(1, "seat@example.org")
		if m := o.claimKind(enroll.MailReminder); m.To.Typed != "seat@example.org" || m.Superseded() {
			t.Errorf("got %+v", m)
		}
	})

	t.Run("the links of an address are those that are its", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		for _, email := range []string{wrong, "right@example.org"} {
			if err := o.RequestLinks(t.Context(), enroll.AddressKey(email)); err != nil {
				t.Fatal(err)
			}
		}
		o.mustCorrect(1, right)
		if m := o.claimKind(enroll.MailLinks); !m.Superseded() {
			t.Errorf("the old address gets %+v", m)
		}
	})

	t.Run("among claims", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1))
		d := o.due(1)[0]
		var wg sync.WaitGroup
		wg.Go(func() { o.mustCorrect(1, right) })
		m, err := o.claim(d)
		wg.Wait()
		switch {
		case err == nil && !m.Superseded(): // it was first
			o.requireOutbox(1, "confirmed 0 pending "+wrong, "confirmed 1 pending "+right, "mistaken_address 0 pending "+wrong)
		case enroll.CodeOf(err) != enroll.NotFound:
			t.Errorf("got %+v, %v", m, err)
		}
	})
}
