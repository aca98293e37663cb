package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// office is a database with one run, a, of two seats.
type office struct {
	*postgres.Store
	t   *testing.T
	url string
	run enroll.RunID
	// pace is what claims are held to; 0 = mails leave as fast as they can.
	pace time.Duration
}

func newOffice(t *testing.T) *office {
	t.Helper()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	return &office{Store: s, t: t, url: url, run: enrolltest.OpenRun(t, s, "a", enrolltest.Seats(2))}
}

// ask has people ask for a seat, and settles.
func (o *office) ask(inputs ...enroll.RegisterInput) {
	o.t.Helper()
	var all []enroll.Submission
	for _, in := range inputs {
		in.Run, in.Name = "a", "A Person"
		sub, err := enroll.NewRegister(in)
		if err != nil {
			o.t.Fatal(err)
		}
		all = append(all, sub)
	}
	accept(o.t, o.Store, all...)
	settle(o.t, o.Store, o.run)
}

func (o *office) exec(sql string, args ...any) {
	o.t.Helper()
	pgtest.Exec(o.t, o.url, sql, args...)
}

// requireMails compares the outbox: kind and ticket of each mail.
func (o *office) requireMails(want ...string) {
	o.t.Helper()
	got := pgtest.Query[string](o.t, o.url, `SELECT kind || coalesce(' ' || ticket, '') FROM mails ORDER BY ticket, due_at, kind, sequence`)
	if !slices.Equal(got, want) {
		o.t.Errorf("the outbox has %q, want %q", got, want)
	}
}

// due returns the mails that are due, which must be so many.
func (o *office) due(n int) []enroll.DueMail {
	o.t.Helper()
	due, err := o.MailsDue(o.t.Context(), 100)
	if err != nil || len(due) != n {
		o.t.Fatalf("%d mails are due (%v), want %d", len(due), err, n)
	}
	return due
}

func (o *office) claim(due enroll.DueMail) (enroll.Mail, error) {
	return o.ClaimMail(context.Background(), due, enroll.ClaimLimits{Lease: time.Minute, Pace: o.pace})
}

func (o *office) mustClaim(due enroll.DueMail) enroll.Mail {
	o.t.Helper()
	m, err := o.claim(due)
	if err != nil {
		o.t.Fatal(err)
	}
	return m
}

func (o *office) mustNotClaim(due enroll.DueMail) {
	o.t.Helper()
	if m, err := o.claim(due); enroll.CodeOf(err) != enroll.NotFound {
		o.t.Errorf("it was claimed: attempt %d (%v)", m.Attempt, err)
	}
}

func (o *office) end(m enroll.Mail, end enroll.MailAttempt) {
	o.t.Helper()
	if err := o.EndMailAttempt(o.t.Context(), m.ID, m.Attempt, end); err != nil {
		o.t.Fatal(err)
	}
}

func person(n int) enroll.RegisterInput {
	return enroll.RegisterInput{Email: fmt.Sprintf("p%d@example.org", n)}
}

func TestSettlingWritesTheMailsThatTellOfIt(t *testing.T) {
	t.Parallel()
	t.Run("each seat is confirmed once, and a refusal to who wants to know", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		wants := person(4)
		wants.Notify = true
		o.ask(person(1), person(2), person(3), wants)
		o.requireMails("confirmed 1", "confirmed 2", "full 4")
		settle(t, o.Store, o.run)
		o.requireMails("confirmed 1", "confirmed 2", "full 4")
	})
	t.Run("a refusal that comes late is told in any case", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(2))
		accept(t, o.Store, enrolltest.Person("a", 3), enrolltest.Person("a", 4))
		o.exec(`UPDATE requests SET accepted_at = accepted_at - interval '31 seconds' WHERE ticket = 3`)
		settle(t, o.Store, o.run)
		o.requireMails("confirmed 1", "confirmed 2", "full 3")
	})
	t.Run("that there is no seat is told to an address once in ten minutes", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		nag := func(n int) enroll.RegisterInput {
			in := person(n)
			in.Notify = true
			return in
		}
		o.ask(person(1), person(2), nag(3), nag(4), nag(3), nag(3))
		o.requireMails("confirmed 1", "confirmed 2", "full 3", "full 4")
		o.ask(nag(3), nag(5))
		o.requireMails("confirmed 1", "confirmed 2", "full 3", "full 4", "full 8")
		o.exec(`UPDATE mails SET due_at = due_at - interval '10 minutes' WHERE ticket = 3`)
		o.ask(nag(3)) // the mail still waits: it would be a burst when the mail server is back
		o.requireMails("confirmed 1", "confirmed 2", "full 3", "full 4", "full 8")
		o.exec(`UPDATE mails SET state = 'sent', ended_at = now()`)
		o.ask(nag(3), nag(4), nag(3))
		o.requireMails("confirmed 1", "confirmed 2", "full 3", "full 4", "full 8", "full 10")

		// Of another run it is news.
		other := enrolltest.OpenRun(t, o.Store, "b", enrolltest.Seats(0))
		sub := enrolltest.Person("b", 3)
		sub.Notify = true
		accept(t, o.Store, sub)
		settle(t, o.Store, other)
		if n := pgtest.Query[int](t, o.url, `SELECT count(*) FROM mails WHERE run_id = $1`, other)[0]; n != 1 {
			t.Errorf("the other run has %d mails, want 1", n)
		}
	})
	t.Run("asking again is told to the registration that holds the seat, once in ten minutes", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.ask(person(1), person(1), person(2), person(1))
		o.requireMails("confirmed 1", "already_registered 1", "confirmed 3")
		o.ask(person(1), person(2), person(2))
		o.requireMails("confirmed 1", "already_registered 1", "confirmed 3", "already_registered 3")
		o.exec(`UPDATE mails SET due_at = due_at - interval '10 minutes'`)
		o.ask(person(1))
		o.requireMails("confirmed 1", "already_registered 1", "confirmed 3", "already_registered 3") // it still waits
		o.exec(`UPDATE mails SET state = 'sent', ended_at = now()`)
		o.ask(person(1), person(1))
		o.requireMails("confirmed 1", "already_registered 1", "already_registered 1", "confirmed 3", "already_registered 3")
	})
	t.Run("a transaction that rolls back tells nothing", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		accept(t, o.Store, enrolltest.Person("a", 1))
		o.exec(`ALTER TABLE attendances ADD CHECK (ticket <> 1)`)
		if _, err := o.Settle(t.Context(), []enroll.RunID{o.run}, enrolltest.SettleLimits(10)); err == nil {
			t.Fatal("it was settled")
		}
		o.requireMails()
	})
}

func TestRequestLinks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	enrolltest.OpenRun(t, o.Store, "b", nil)
	ask := func(key enroll.AddressKey) {
		t.Helper()
		if err := o.RequestLinks(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	ask("p1@example.org")
	o.requireMails() // nobody has it
	o.ask(person(2), person(3))
	accept(t, o.Store, enrolltest.Submission("a", "p1@example.org", ""))
	accept(t, o.Store, enrolltest.Submission("b", "P1@example.org", ""))
	settle(t, o.Store, o.run)
	o.exec(`DELETE FROM mails`)

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _ = o.RequestLinks(context.Background(), "p1@example.org") })
	}
	wg.Wait()
	ask("p1@example.org")
	ask("nobody@example.org")
	o.requireMails("links")
	m := o.mustClaim(o.due(1)[0])
	if m.Kind != enroll.MailLinks || m.To.Mailbox() != "P1@example.org" || len(m.About) != 2 {
		t.Fatalf("got %+v", m)
	}
	for i, want := range []string{"b queued ", "a rejected full"} {
		if got := fmt.Sprintf("%s %s %s", m.About[i].Run, m.About[i].Status, m.About[i].Reason); got != want {
			t.Errorf("registration %d is %q, want %q", i, got, want)
		}
	}
	o.end(m, enroll.MailAttempt{State: enroll.MailSent})
	ask("p1@example.org")
	o.requireMails("links")
	o.exec(`UPDATE mails SET due_at = due_at - interval '10 minutes'`)
	ask("p1@example.org")
	o.requireMails("links", "links")

	if m := o.mustClaim(o.due(1)[0]); m.More {
		t.Error("it is said that there are more")
	}
	var many []enroll.Submission
	for range 99 { // with the two there are
		many = append(many, enrolltest.Submission("a", "p1@example.org", ""))
	}
	accept(t, o.Store, many...)
	o.exec(`DELETE FROM mails`)
	ask("p1@example.org")
	if m := o.mustClaim(o.due(1)[0]); len(m.About) != 100 || !m.More || m.About[99].Run != "b" {
		t.Errorf("it lists %d, and more: %v", len(m.About), m.More)
	}
}

func TestResendMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	enrolltest.OpenRun(t, o.Store, "b", nil)
	o.ask(person(1))
	m := o.mustClaim(o.due(1)[0])
	again := func() enroll.OutboxMail {
		t.Helper()
		got, err := o.ResendMail(t.Context(), access.Operator, "a", m.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := again(); got.ID != m.ID || got.State != enroll.MailPending {
		t.Errorf("one that is on its way became %+v", got)
	}
	o.end(m, enroll.MailAttempt{State: enroll.MailFailed, Problem: "no such user"})
	got := again()
	if got.ID == m.ID || got.Sequence != 1 || got.State != enroll.MailPending || got.Kind != enroll.MailConfirmed || got.Ticket != 1 || got.Attempts != 0 {
		t.Errorf("got %+v", got)
	}
	if twice := again(); twice.ID != got.ID {
		t.Errorf("asking twice made two: %+v", twice)
	}
	o.requireMails("confirmed 1", "confirmed 1")
	o.exec(`UPDATE mails SET next_at = now() + interval '1 hour' WHERE state = 'pending'`) // it is deferred
	if soon := again(); soon.ID != got.ID || soon.NextAt.After(time.Now().Add(time.Minute)) {
		t.Errorf("one that waits is not tried now: %+v", soon)
	}
	if next := o.mustClaim(o.due(1)[0]); next.ID != got.ID {
		t.Errorf("got %+v", next)
	}
	for run, id := range map[string]uuid.UUID{"a": uuid.New(), "b": m.ID, "c": m.ID} {
		if _, err := o.ResendMail(t.Context(), access.Operator, run, id); enroll.CodeOf(err) != enroll.NotFound {
			t.Errorf("run %s: got %v", run, err)
		}
	}
}

func TestMails(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.exec(`UPDATE runs SET capacity = NULL`)
	for n := range 5 { // of two tickets each, only the first gets mails
		o.ask(person(n), person(n))
	}
	o.exec(`UPDATE mails SET state = 'failed', ended_at = now() WHERE ticket = 7 AND kind = 'confirmed'`)
	for name, test := range map[string]struct {
		query enroll.MailQuery
		want  []string
	}{
		"two tickets after one":             {enroll.MailQuery{After: 1, Tickets: 2}, []string{"3 confirmed", "3 already_registered", "5 confirmed", "5 already_registered"}},
		"a state":                           {enroll.MailQuery{State: enroll.MailFailed, Tickets: 1}, []string{"7 confirmed"}},
		"a ticket":                          {enroll.MailQuery{Ticket: 3}, []string{"3 confirmed", "3 already_registered"}},
		"a ticket far behind, and a state":  {enroll.MailQuery{Ticket: 7, State: enroll.MailFailed}, []string{"7 confirmed"}},
		"a ticket without mails in a state": {enroll.MailQuery{Ticket: 5, State: enroll.MailFailed}, nil},
		"a ticket without mails":            {enroll.MailQuery{Ticket: 2}, nil},
	} {
		mails, err := o.Mails(t.Context(), "a", test.query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range mails {
			got = append(got, fmt.Sprintf("%d %s", m.Ticket, m.Kind))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if _, err := o.Mails(t.Context(), "b", enroll.MailQuery{Tickets: 1}); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("got %v", err)
	}
}

// TestRevision: calendars take the entry with the highest number.
func TestRevision(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, step := range []struct {
		sql  string
		want int
	}{
		{`UPDATE runs SET capacity = 5, closes_at = closes_at - interval '1 minute', language = 'de'`, 0},
		{`UPDATE runs SET location = location, starts_at = starts_at`, 0},
		{`UPDATE runs SET location = 'Room 3'`, 1},
		{`UPDATE runs SET starts_at = starts_at - interval '1 hour', ends_at = ends_at - interval '1 hour'`, 2},
		{`UPDATE runs SET time_zone = 'UTC'`, 3},
	} {
		o.exec(step.sql)
		if r, err := o.Run(t.Context(), "a"); err != nil || r.Revision != step.want {
			t.Errorf("after %s it is revision %d (%v), want %d", step.sql, r.Revision, err, step.want)
		}
	}
}
