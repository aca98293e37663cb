package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// newListOffice is newOffice with a waiting list of so many places.
func newListOffice(t *testing.T, places int) *office {
	t.Helper()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	now := time.Now()
	return &office{Store: s, t: t, url: url, run: enrolltest.CreateRun(t, s, enroll.Run{
		Slug: "a", Capacity: enrolltest.Seats(2), WaitlistCapacity: &places, OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(time.Hour),
	})}
}

// settleAll settles until nothing is left.
func (o *office) settleAll() {
	o.t.Helper()
	for more := true; more; {
		more = settle(o.t, o.Store, o.run)[o.run].More
	}
}

// do accepts the submissions together, which must all be accepted.
func (o *office) do(all ...enroll.Submission) []enroll.Receipt {
	o.t.Helper()
	results, err := o.Accept(o.t.Context(), all)
	if err != nil {
		o.t.Fatal(err)
	}
	receipts := make([]enroll.Receipt, len(results))
	for i, result := range results {
		if result.Err != nil {
			o.t.Fatalf("submission %d: %v", i, result.Err)
		}
		receipts[i] = result.Receipt
	}
	return receipts
}

// requireLine settles, compares the run's line, each a status with its reason,
// and checks all rules.
func (o *office) requireLine(want ...string) {
	o.t.Helper()
	o.settleAll()
	got := pgtest.Query[string](o.t, o.url, `SELECT concat_ws(' ', status, reason) FROM requests WHERE run_id = $1 ORDER BY ticket`, o.run)
	if !slices.Equal(got, want) {
		o.t.Errorf("the line is\n%q, want\n%q", got, want)
	}
	pgtest.RequireSound(o.t, o.url)
}

func ask(n int) enroll.Submission { return enrolltest.Person("a", n) }

func cancel(ticket int64) enroll.Submission { return enroll.NewCancel("a", ticket, false) }

func resize(t *testing.T, capacity int) enroll.Submission {
	t.Helper()
	sub, err := enroll.NewResize("a", enroll.Change{Capacity: &enroll.Limit{Most: &capacity}})
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestSeatsThatChangeHands(t *testing.T) {
	t.Parallel()
	t.Run("a seat that is given up goes to the first on the list", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), ask(4), ask(1), ask(3))
		o.requireLine("confirmed", "confirmed", "waitlisted", "waitlisted", "rejected already_registered", "rejected already_registered")
		o.do(cancel(2), ask(9))
		o.requireLine("confirmed", "cancelled", "confirmed", "waitlisted", "rejected already_registered", "rejected already_registered", "done", "waitlisted")
		o.requireMails("confirmed 1", "already_registered 1", "confirmed 2", "cancelled 2", "waitlisted 3", "already_registered 3", "promoted 3",
			"waitlisted 4", "waitlisted 8")
		if changed := pgtest.Query[bool](t, o.url, `SELECT changed_at >= decided_at FROM requests WHERE ticket IN (2, 3)`); !changed[0] || !changed[1] {
			t.Error("it does not say when that was")
		}
	})
	t.Run("all of it in one transaction", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		// Person 1 registers, cancels and registers again; 3 is promoted and cancels, too.
		o.do(ask(1), ask(2), ask(3), ask(4))
		o.do(cancel(1))
		o.do(ask(1), cancel(3))
		o.requireLine("cancelled", "confirmed", "cancelled", "confirmed", "done", "waitlisted", "done")
		o.requireMails("confirmed 1", "cancelled 1", "confirmed 2", "waitlisted 3", "promoted 3", "cancelled 3", "waitlisted 4", "promoted 4", "waitlisted 6")
		// Who was promoted is told so, however the line was cut.
		changed := pgtest.Query[int64](t, o.url, `SELECT ticket FROM requests WHERE changed_at >= decided_at ORDER BY ticket`)
		if want := []int64{1, 3, 4}; !slices.Equal(changed, want) {
			t.Errorf("changed are said to be %v, want %v", changed, want)
		}
	})
	t.Run("several seats that are given up together go to as many who wait", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(resize(t, 4), ask(1), ask(2), ask(3), ask(4), ask(5), ask(6), ask(7), ask(8))
		o.settleAll()
		o.do(cancel(2), cancel(3), cancel(4), cancel(5))
		o.requireLine("done", "cancelled", "cancelled", "cancelled", "cancelled", "confirmed", "confirmed", "confirmed", "confirmed",
			"done", "done", "done", "done")
	})
	t.Run("a counter that is wrong stops the line, and says so", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3))
		o.settleAll()
		pgtest.Damage(t, o.url, `UPDATE runs SET waiting_count = 2`)
		o.do(enroll.NewCloseWaitlist("a"))
		settle(t, o.Store, o.run)
		_, err := o.Settle(t.Context(), []enroll.RunID{o.run}, enrolltest.SettleLimits(10))
		if enroll.CodeOf(err) != enroll.Internal || !strings.Contains(err.Error(), "api doctor") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelling twice is one request", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		first := o.do(ask(1), cancel(1))[1]
		for _, again := range []enroll.Submission{cancel(1), enroll.NewCancel("a", 1, true)} {
			if r := o.do(again)[0]; !r.Again || r.Ticket != first.Ticket || r.Kind != enroll.Cancel || r.Target != 1 {
				t.Errorf("got %+v, want ticket %d again", r, first.Ticket)
			}
		}
		o.requireLine("cancelled", "done")
		if r := o.do(cancel(1))[0]; !r.Again || r.Status != enroll.Done {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a capacity that is raised promotes in order, in as many steps as it takes", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 100)
		for n := range 20 {
			o.do(ask(n))
		}
		o.settleAll()
		o.do(resize(t, 13), ask(50))
		steps := 0
		for more := true; more; steps++ {
			p, err := o.Settle(t.Context(), []enroll.RunID{o.run}, enrolltest.SettleLimits(4))
			if err != nil {
				t.Fatal(err)
			}
			pgtest.RequireSound(t, o.url)
			if more = p[o.run].More; more {
				if backlogs, err := o.Backlogs(t.Context(), nil, 0); err != nil || len(backlogs) != 1 {
					t.Errorf("in the middle of it nothing waits: %v %v", backlogs, err)
				}
			}
		}
		if steps < 3 {
			t.Errorf("11 people were promoted in %d steps of 4", steps)
		}
		want := append(slices.Repeat([]string{"confirmed"}, 13), slices.Repeat([]string{"waitlisted"}, 7)...)
		o.requireLine(append(want, "done", "waitlisted")...)
	})
	t.Run("below the seats held nobody loses one, and nobody gets one", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), resize(t, 0), cancel(1), cancel(2), resize(t, 1))
		o.requireLine("cancelled", "cancelled", "confirmed", "done", "done", "done", "done")
	})
	t.Run("a list that is closed ends", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), ask(4), enroll.NewCloseWaitlist("a"), cancel(1), ask(5), ask(6), enroll.NewCloseWaitlist("a"))
		o.requireLine("cancelled", "confirmed", "not_promoted", "not_promoted", "done", "done", "confirmed", "rejected full", "done no_effect")
		o.requireMails("confirmed 1", "cancelled 1", "confirmed 2", "waitlisted 3", "not_promoted 3", "waitlisted 4", "not_promoted 4", "confirmed 7")
	})
	t.Run("a run that is called off is over for all", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), ask(1), enroll.NewCallOff("a"), ask(7), cancel(1), enroll.NewCallOff("a"))
		o.requireLine("cancelled called_off", "cancelled called_off", "cancelled called_off", "rejected already_registered", "done",
			"rejected called_off", "done no_effect", "done no_effect")
		results, err := o.Accept(t.Context(), []enroll.Submission{ask(8)})
		if err != nil || enroll.CodeOf(results[0].Err) != enroll.CodeCalledOff {
			t.Errorf("got %v, %v", results, err)
		}
		o.requireMails("confirmed 1", "already_registered 1", "called_off 1", "confirmed 2", "called_off 2", "waitlisted 3", "called_off 3", "called_off 6")
	})
	t.Run("a waiting list can be declined", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		limited := func(n, limit int) enroll.Submission {
			sub, err := enroll.NewRegister(enroll.RegisterInput{Run: "a", Name: "A Person", Email: person(n).Email, WaitlistLimit: &limit})
			if err != nil {
				t.Fatal(err)
			}
			return sub
		}
		o.do(limited(1, 0), limited(2, 0), limited(3, 0), limited(4, 1), limited(5, 1), limited(6, 2))
		o.requireLine("confirmed", "confirmed", "rejected full", "waitlisted", "rejected waitlist_too_long", "waitlisted")
	})
}

// begin moves the begin of the run, and with it the end of the waiting list, so
// far from now.
func (o *office) begin(in time.Duration) {
	o.t.Helper()
	o.exec(`UPDATE runs SET starts_at = now() + $1::interval, ends_at = now() + $1::interval + interval '2 hours'`, in)
}

func (o *office) requireRefused(sub enroll.Submission, want enroll.Code) {
	o.t.Helper()
	results, err := o.Accept(o.t.Context(), []enroll.Submission{sub})
	if err != nil || enroll.CodeOf(results[0].Err) != want {
		o.t.Errorf("got %v, %v, want %s", results, err, want)
	}
}

func TestWhenARunHasBegun(t *testing.T) {
	t.Parallel()
	t.Run("nobody is promoted, and a free seat goes to a newcomer", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3))
		o.settleAll()
		o.begin(-time.Minute)
		o.requireRefused(cancel(1), enroll.RunBegun)
		o.do(enroll.NewCancel("a", 1, true), resize(t, 2))
		o.requireLine("cancelled removed", "confirmed", "waitlisted", "done", "done")
		if run, err := o.Run(t.Context(), "a"); err != nil || *run.SeatsLeft() != 1 {
			t.Errorf("got %+v, %v", run, err)
		}
		o.do(ask(4), ask(5))
		o.requireLine("cancelled removed", "confirmed", "waitlisted", "done", "done", "confirmed", "rejected full")
	})
	t.Run("a place on the list can be given up", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), ask(4))
		o.settleAll()
		o.begin(-time.Minute)
		o.do(cancel(3))
		o.begin(-3 * time.Hour) // it is over, too
		o.do(cancel(4), enroll.NewCancel("a", 1, true))
		o.requireLine("cancelled removed", "confirmed", "cancelled", "cancelled", "done", "done", "done")
	})
	t.Run("it is judged when it is accepted", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3), ask(4))
		o.settleAll()
		o.do(cancel(1)) // in time, and settled later
		o.begin(-time.Minute)
		o.do(enroll.NewCancel("a", 2, true))
		o.begin(time.Hour) // the begin is moved, and the list goes on
		o.requireLine("cancelled", "cancelled removed", "confirmed", "waitlisted", "done", "done")
		o.do(resize(t, 2))
		o.requireLine("cancelled", "cancelled removed", "confirmed", "confirmed", "done", "done", "done")
	})
	t.Run("a list that goes on promotes", func(t *testing.T) {
		t.Parallel()
		o := newListOffice(t, 5)
		o.do(ask(1), ask(2), ask(3))
		o.settleAll()
		o.begin(-time.Minute)
		o.exec(`UPDATE runs SET promote_until = ends_at`)
		o.do(enroll.NewCancel("a", 1, true))
		o.requireLine("cancelled removed", "confirmed", "confirmed", "done")
	})
}

func TestWhenARunIsOver(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 5)
	o.do(ask(1), ask(2), ask(3))
	o.settleAll()
	o.begin(-3 * time.Hour) // the window is open for an hour more
	organisers := ask(4)
	organisers.ByOrganiser, organisers.OutsideWindow = true, true
	o.requireRefused(ask(4), enroll.RunOver)
	o.requireRefused(organisers, enroll.RunOver)
	o.requireRefused(cancel(1), enroll.RunBegun)
	if run, err := o.Run(t.Context(), "a"); err != nil || run.Life().Window != enroll.Over || *run.SeatsLeft() != 0 {
		t.Errorf("got %+v, %v", run, err)
	}
	o.do(enroll.NewCancel("a", 1, true), resize(t, 9), enroll.NewCloseWaitlist("a"), enroll.NewCallOff("a"))
	o.requireLine("cancelled removed", "cancelled called_off", "not_promoted", "done", "done", "done", "done")
}

func TestOutsideTheWindow(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.exec(`UPDATE runs SET closes_at = now() - interval '1 minute'`)
	input := enroll.RegisterInput{Run: "a", Name: "A Person", Email: "p1@example.org"}
	for outside, want := range map[bool]enroll.Code{false: enroll.RunClosed, true: ""} {
		input.OutsideWindow = outside
		sub, err := enroll.NewRegister(input)
		if err != nil {
			t.Fatal(err)
		}
		results, err := o.Accept(t.Context(), []enroll.Submission{sub})
		if err != nil || enroll.CodeOf(results[0].Err) != want {
			t.Errorf("outside %v: got %v, %v", outside, results, err)
		}
	}
	o.requireLine("confirmed")
}

// placeOf returns the place on the waiting list.
func (o *office) placeOf(r enroll.Registration) int {
	o.t.Helper()
	place, err := o.WaitlistPosition(o.t.Context(), r)
	if err != nil {
		o.t.Fatal(err)
	}
	return place
}

func TestRegistrationAsItStands(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 5)
	o.do(ask(1), ask(2), ask(3), ask(4), ask(5))
	o.settleAll()
	at := func(ticket int64) enroll.Registration {
		t.Helper()
		r, err := o.RegistrationAt(t.Context(), "a", ticket)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for ticket, want := range map[int64]int{1: 0, 3: 1, 4: 2, 5: 3} {
		if r := at(ticket); o.placeOf(r) != want || !r.ChangedAt.IsZero() || r.Cancellation != (enroll.Cancellation{}) {
			t.Errorf("ticket %d: got %+v, want place %d", ticket, r, want)
		}
	}
	o.do(cancel(4), cancel(1))
	if r := at(4); r.Cancellation != (enroll.Cancellation{Ticket: 6, Status: enroll.Queued}) {
		t.Errorf("got %+v", r)
	}
	o.settleAll()
	if r := at(4); r.Status != enroll.Cancelled || r.Cancellation.Status != enroll.Done || r.ChangedAt.IsZero() || o.placeOf(r) != 0 {
		t.Errorf("got %+v", r)
	}
	if r := at(3); r.Status != enroll.Confirmed || r.ChangedAt.Before(r.DecidedAt) || r.ChangedAt.IsZero() {
		t.Errorf("got %+v", r)
	}
	if r := at(5); o.placeOf(r) != 1 {
		t.Errorf("got %+v", r)
	}
	for _, ticket := range []int64{0, 6, 99} { // 6 is no registration
		if _, err := o.RegistrationAt(t.Context(), "a", ticket); enroll.CodeOf(err) != enroll.NotFound {
			t.Errorf("ticket %d: got %v", ticket, err)
		}
	}
}

func TestCorrectPerson(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 5)
	o.do(ask(1), ask(2), ask(3), ask(1))
	o.settleAll()
	o.do(ask(30)) // stays queued
	correct := func(ticket int64, n int) enroll.Code {
		t.Helper()
		address, err := enroll.ParseAddress(person(n).Email)
		if err != nil {
			t.Fatal(err)
		}
		return enroll.CodeOf(o.CorrectPerson(t.Context(), access.Operator, "a", ticket, "Another Name", address))
	}
	for _, step := range []struct {
		ticket int64
		person int
		want   enroll.Code
	}{{1, 2, enroll.Conflict}, {1, 3, enroll.Conflict}, {4, 9, enroll.NotHeld}, {5, 9, enroll.NotHeld}, {99, 9, enroll.NotFound}, {1, 1, ""}, {1, 8, ""}, {3, 7, ""}} {
		if got := correct(step.ticket, step.person); got != step.want {
			t.Errorf("ticket %d becomes person %d: got %q, want %q", step.ticket, step.person, got, step.want)
		}
	}
	if err := o.CorrectPerson(t.Context(), access.Operator, "b", 1, "x", enroll.Address{}); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("got %v", err)
	}
	o.do(ask(8), ask(1), ask(7)) // who it is now has the seat, who it was has none
	o.requireLine("confirmed", "confirmed", "waitlisted", "rejected already_registered", "waitlisted", "rejected already_registered", "waitlisted", "rejected already_registered")
	if name := pgtest.Query[string](t, o.url, `SELECT name FROM requests WHERE ticket = 1`)[0]; name != "Another Name" {
		t.Errorf("the name is %q", name)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	capacity, list := 3, (*int)(nil)
	change, err := enroll.NewResize("a", enroll.Change{Capacity: &enroll.Limit{Most: &capacity}, WaitlistCapacity: &enroll.Limit{Most: list}})
	if err != nil {
		t.Fatal(err)
	}
	o.do(ask(1), cancel(1), change, ask(2))
	o.settleAll()
	o.do(enroll.NewCallOff("a"))
	var got []string
	read := func(after int64) {
		t.Helper()
		got = nil
		err := o.Line(t.Context(), "a", after, func(e enroll.LineEntry) error {
			text := fmt.Sprintf("%d %s %s", e.Ticket, e.Kind, e.Status)
			if c := e.Change.Capacity; c != nil {
				text += fmt.Sprintf(" capacity %d", *c.Most)
			}
			if c := e.Change.WaitlistCapacity; c != nil && c.Most == nil {
				text += " list unlimited"
			}
			if e.Target != 0 {
				text += fmt.Sprintf(" of %d", e.Target)
			}
			if e.AcceptedAt.IsZero() || e.DecidedAt.IsZero() != (e.Status == enroll.Queued) {
				text += " without an instant"
			}
			got = append(got, text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read(0)
	want := []string{"1 register cancelled", "2 cancel done of 1", "3 resize done capacity 3 list unlimited", "4 register confirmed", "5 call_off queued"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if read(3); !slices.Equal(got, want[3:]) {
		t.Errorf("got %q, want %q", got, want[3:])
	}
	enough := errors.New("enough")
	if err := o.Line(t.Context(), "a", 0, func(enroll.LineEntry) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if err := o.Line(t.Context(), "b", 0, func(enroll.LineEntry) error { return nil }); enroll.CodeOf(err) != enroll.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestListsThatEndByThemselves(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 5)
	o.do(ask(1), ask(2), ask(3))
	o.settleAll()
	list := func() string {
		t.Helper()
		runs, err := o.ListsToEnd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(runs, " ")
	}
	o.exec(`UPDATE runs SET promote_until = now() + interval '1 hour'`)
	if got := list(); got != "" {
		t.Errorf("%q end now", got)
	}
	o.exec(`UPDATE runs SET promote_until = now()`)
	if got := list(); got != "a" {
		t.Errorf("%q end now, want a", got)
	}
	first := o.do(enroll.NewScheduledCloseWaitlist("a"))[0]
	if got := list(); got != "" {
		t.Errorf("%q end now, and have been asked for", got)
	}
	if again := o.do(enroll.NewScheduledCloseWaitlist("a"))[0]; !again.Again || again.Ticket != first.Ticket {
		t.Errorf("got %+v", again)
	}
	o.requireLine("confirmed", "confirmed", "not_promoted", "done")
	if got := list(); got != "" {
		t.Errorf("%q end again", got)
	}
}

// TestNobodyWaitsForARunThatHasBegun: every request ends.
func TestNobodyWaitsForARunThatHasBegun(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 5)
	o.do(ask(1), ask(2), ask(3))
	o.settleAll()
	ends := func() []string {
		t.Helper()
		runs, err := o.ListsToEnd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	if runs := ends(); len(runs) != 0 {
		t.Errorf("%q end now", runs)
	}
	o.begin(0)
	if runs := ends(); !slices.Equal(runs, []string{"a"}) {
		t.Errorf("%q end now, want a", runs)
	}
	o.do(enroll.NewScheduledCloseWaitlist("a"))
	o.requireLine("confirmed", "confirmed", "not_promoted", "done")
	if runs := ends(); len(runs) != 0 {
		t.Errorf("%q end again", runs)
	}
}

// BenchmarkSettleGrown measures settling 500 requests of a run that is empty,
// and of one that has 200 000 requests.
func BenchmarkSettleGrown(b *testing.B) {
	url := pgtest.URL(b)
	s := pgtest.Open(b, url)
	runs := map[string]enroll.RunID{}
	for _, slug := range []string{"empty", "grown"} {
		runs[slug] = enrolltest.OpenRun(b, s, slug, enrolltest.Seats(100_000))
	}
	pgtest.Exec(b, url, `INSERT INTO requests (run_id, ticket, id, kind, name, email, email_key, accepted_at, status, decided_at)
		SELECT $1, t, gen_random_uuid(), 'register', 'x', 'g' || t || '@example.org', 'g' || t || '@example.org', now(), 'confirmed', now() FROM generate_series(1, 200000) t`, runs["grown"])
	pgtest.Exec(b, url, `INSERT INTO users (email_key, email, name) SELECT 'g' || t || '@example.org', 'g', 'x' FROM generate_series(1, 200000) t`)
	pgtest.Exec(b, url, `INSERT INTO attendances (run_id, user_id, ticket) SELECT q.run_id, u.id, q.ticket FROM requests q JOIN users u USING (email_key)`)
	pgtest.Exec(b, url, `UPDATE lines SET last_ticket = 200000 WHERE run_id = $1`, runs["grown"])
	pgtest.Exec(b, url, `UPDATE runs SET settled_ticket = 200000, attendances_count = 200000, capacity = 300000 WHERE id = $1`, runs["grown"])
	pgtest.Exec(b, url, `VACUUM ANALYZE`)
	took := map[string][]time.Duration{}
	n := 0
	for b.Loop() {
		for slug, id := range runs {
			var all []enroll.Submission
			for range 500 {
				n++
				all = append(all, enrolltest.Person(slug, n))
			}
			if _, err := s.Accept(context.Background(), all); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			if _, err := s.Settle(context.Background(), []enroll.RunID{id}, enrolltest.SettleLimits(1000)); err != nil {
				b.Fatal(err)
			}
			took[slug] = append(took[slug], time.Since(began))
		}
	}
	for slug, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, slug+"-ms")
	}
}
