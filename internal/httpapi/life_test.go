package httpapi_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// hour returns the instant that is called n: far ahead, so that a line whose last
// request was accepted then judges by it, whatever the clock says.
func hour(n int) time.Time { return time.Date(2100, 1, 1, n, 0, 0, 0, time.UTC) }

// life is a run of the API beside the same run on paper.
type life struct {
	*service
	t             *rapid.T
	conn          *pgx.Conn
	slug          string
	now           int
	paper         *paper
	registrations []*asked
	urls          map[*asked]registration
	seen          map[string]int
}

// TestLife has random things happen to random runs at random instants: what the
// API answers, what becomes of everybody, what the run shows and what is told by
// mail is what the table of a run's life says. As with TestWalk, -rapid.checks
// makes it last.
func TestLife(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addCourse("course")
	conn, err := pgx.Connect(t.Context(), s.place.database) // thousands of statements
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	seen, checks := make(map[string]int), 0
	end := time.Now().Add(walkTime)
	counted := flag.Lookup("rapid.checks").Value.String() != flag.Lookup("rapid.checks").DefValue
	rapid.Check(t, func(t *rapid.T) {
		if !counted && checks >= 20 && time.Now().After(end) {
			return
		}
		checks++
		l := &life{service: s, t: t, conn: conn, slug: fmt.Sprintf("life-%d", checks), urls: make(map[*asked]registration), seen: seen}
		l.create()
		for range rapid.IntRange(5, 25).Draw(t, "steps") {
			l.step()
			if t.Failed() || s.t.Failed() {
				t.FailNow()
			}
		}
		l.settle()
		l.compareAll()
	})
	t.Logf("in %d runs: %v", checks, seen)
	pgtest.RequireSound(t, s.place.database)
	for _, want := range []string{
		"register ", "register not_open", "register closed", "register over", "register called_off", "cancel ", "cancel begun", "cancel not_held",
		"resize ", "close_waitlist ", "call_off ", "by its time", "moved", "late register confirmed", "late register rejected full", "late cancel", "promoted",
	} {
		if seen[want] == 0 && checks >= 50 {
			t.Errorf("in no run was there %q", want)
		}
	}
}

func (l *life) create() {
	number := rapid.SampledFrom([]*int{new(1), new(2), new(0), nil})
	p := &paper{
		opens: rapid.IntRange(1, 3).Draw(l.t, "opens"), starts: rapid.SampledFrom([]int{4, 3, 6, 1, 8}).Draw(l.t, "starts"),
		until:    rapid.SampledFrom([]int{never, never, 2, 5, 9}).Draw(l.t, "promote_until"),
		capacity: number.Draw(l.t, "capacity"), places: number.Draw(l.t, "places"), all: make(map[int]*asked),
	}
	p.closes, p.ends = p.opens+rapid.SampledFrom([]int{4, 9, 2, 1}).Draw(l.t, "open for"), p.starts+rapid.SampledFrom([]int{3, 5, 1}).Draw(l.t, "lasts")
	r := enroll.Run{
		Slug: l.slug, Course: "course", TimeZone: "Europe/Berlin", Capacity: p.capacity, WaitlistCapacity: p.places,
		OpensAt: hour(p.opens), ClosesAt: hour(p.closes), StartsAt: hour(p.starts), EndsAt: hour(p.ends),
	}
	if p.until != never {
		r.PromoteUntil = hour(p.until)
	}
	if _, err := l.store.CreateRun(context.Background(), r); err != nil {
		l.t.Fatal(err)
	}
	l.paper = p
	l.now = max(p.opens-rapid.SampledFrom([]int{0, 1}).Draw(l.t, "before it opens"), 0)
	l.tick(0)
}

// tick moves the clock of the line.
func (l *life) tick(hours int) {
	l.now += hours
	l.change(`UPDATE lines SET last_accepted_at = $2 WHERE run_id = (SELECT id FROM runs WHERE slug = $1)`, hour(l.now))
}

func (l *life) change(sql string, args ...any) {
	if _, err := l.conn.Exec(context.Background(), sql, append([]any{l.slug}, args...)...); err != nil {
		l.t.Fatal(err)
	}
}

// step has something happen, and looks at the run.
func (l *life) step() {
	if chance(l.t, "an hour passes", 5) {
		l.tick(1)
	}
	kind := rapid.SampledFrom([]string{
		"register", "register", "register", "register", "cancel", "cancel", "cancel", "resize", "settle", "settle", "settle", "move", "close_waitlist",
	}).Draw(l.t, "what happens")
	a := &asked{kind: kind, byOrganiser: chance(l.t, "by an organiser", 3)}
	switch kind {
	case "register":
		a.who, a.seatOnly = rapid.IntRange(1, 6).Draw(l.t, "who"), chance(l.t, "seat only", 6)
	case "cancel":
		if len(l.registrations) == 0 {
			return
		}
		a.target = rapid.SampledFrom(l.registrations).Draw(l.t, "target")
	case "resize":
		a.change = rapid.SampledFrom([]*int{new(1), new(2), new(3), new(0), nil}).Draw(l.t, "to")
	case "settle":
		l.settle()
		l.closeOverdue()
		return
	case "move":
		l.move()
		return
	default: // close_waitlist
		if chance(l.t, "for all", 3) {
			a.kind = "call_off"
		} else if !chance(l.t, "now", 2) {
			return
		}
	}
	l.ask(a)
	l.compareRun()
}

// ask sends the request, and holds the answer against the paper.
func (l *life) ask(a *asked) {
	want := l.paper.answer(a, l.now)
	got := l.send(a)
	code := ""
	if got.status >= 300 {
		var p problem
		got.decode(&p)
		code = p.Code
	}
	l.seen[a.kind+" "+want]++
	if code != want {
		l.t.Fatalf("at %d in %+v: %+v is answered %d %q, want %q", l.now, *l.paper, *a, got.status, code, want)
	}
	if want != "" || a.kind == "cancel" && (a.target.cancelled || got.status == http.StatusOK) {
		return // there is nothing new in the line
	}
	l.paper.accept(a, l.now)
	if a.kind == "register" {
		r := got.registration()
		l.registrations, l.urls[a] = append(l.registrations, a), r
		if r.Ticket != int64(a.ticket) || !r.AcceptedAt.Equal(hour(l.now)) {
			l.t.Fatalf("got ticket %d at %v, want %d at %v", r.Ticket, r.AcceptedAt, a.ticket, hour(l.now))
		}
	}
}

func (l *life) send(a *asked) answer {
	run := "/v1/runs/" + l.slug
	switch a.kind {
	case "register":
		body := fmt.Sprintf(`{"name": "A Person", "email": "p%d@example.org", "waitlist": %t, "outside_window": %t}`, a.who, !a.seatOnly, a.byOrganiser)
		return l.organise(http.MethodPost, run+"/registrations", body)
	case "cancel":
		if a.byOrganiser {
			return l.organise(http.MethodDelete, fmt.Sprintf("%s/registrations/%d", run, a.target.ticket), "")
		}
		return l.cancel(l.urls[a.target])
	case "resize":
		to := "null"
		if a.change != nil {
			to = fmt.Sprint(*a.change)
		}
		return l.organise(http.MethodPatch, run, `{"capacity": `+to+`}`)
	case "close_waitlist":
		return l.organise(http.MethodPost, run+"/close-waitlist", "")
	default:
		return l.organise(http.MethodPost, run+"/call-off", "")
	}
}

// settle settles the line, and holds what became of it against the paper.
func (l *life) settle() {
	l.service.settle()
	l.paper.settle()
	l.compareRun()
}

// closeOverdue does what the worker does, by the clock of the line.
func (l *life) closeOverdue() {
	if p := l.paper; l.now < p.listEnds() || len(p.list) == 0 || p.ended {
		return
	}
	results, err := l.store.Accept(context.Background(), []enroll.Submission{enroll.NewScheduledCloseWaitlist(l.slug)})
	if err != nil || results[0].Err != nil {
		l.t.Fatalf("got %+v, %v", results, err)
	}
	if results[0].Receipt.Again {
		l.t.Fatal("a person waits behind the end of the list")
	}
	l.paper.accept(&asked{kind: "close_waitlist"}, l.now)
	l.seen["by its time"]++
}

// move moves the run, and with it the end of its list unless that has its own.
func (l *life) move() {
	p := l.paper
	p.starts += rapid.SampledFrom([]int{1, 2, -1, 3, -2}).Draw(l.t, "later by")
	p.ends = p.starts + rapid.SampledFrom([]int{3, 5, 1}).Draw(l.t, "lasts")
	l.change(`UPDATE runs SET starts_at = $2, ends_at = $3 WHERE slug = $1`, hour(p.starts), hour(p.ends))
	l.seen["moved"]++
	l.compareRun()
}

// compareRun holds what the run shows against the paper.
func (l *life) compareRun() {
	r := l.run(l.slug)
	left := "any"
	if r.SeatsLeft != nil {
		left = fmt.Sprint(*r.SeatsLeft)
	}
	got := fmt.Sprintf("%s, %d seats taken, %s left, %d wait, list ended: %t", r.Registration, r.SeatsTaken, left, r.Waitlist.Length, r.Waitlist.Ended)
	if want := l.paper.shown(l.now); got != want {
		l.t.Fatalf("at %d in %+v: the run shows\n%s, want\n%s", l.now, *l.paper, got, want)
	}
	if want := hour(l.paper.listEnds()); !r.Waitlist.PromoteUntil.Equal(want) {
		l.t.Fatalf("the list ends at %v, want %v", r.Waitlist.PromoteUntil, want)
	}
}

// compareAll holds the outcomes and the mails of a settled line against the
// paper.
func (l *life) compareAll() {
	for _, a := range l.registrations {
		if a.late {
			l.seen["late register "+a.status]++
		}
		if got := l.service.now(l.urls[a]); got.outcome() != a.status {
			l.t.Fatalf("%+v is %s", *a, got.outcome())
		}
	}
	for _, a := range l.paper.all {
		if a.kind == "cancel" && a.late {
			l.seen["late cancel"]++
		}
	}
	rows, err := l.conn.Query(context.Background(), `SELECT ticket || ' ' || kind FROM mails
		WHERE run_id = (SELECT id FROM runs WHERE slug = $1) AND kind IN ('confirmed', 'waitlisted', 'promoted', 'not_promoted', 'called_off')`, l.slug)
	if err != nil {
		l.t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		l.t.Fatal(err)
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(l.paper.mails))
	if !slices.Equal(got, want) {
		l.t.Fatalf("in %+v: told are\n%q, want\n%q", *l.paper, got, want)
	}
	for _, m := range want {
		if strings.HasSuffix(m, " promoted") {
			l.seen["promoted"]++
		}
	}
}
