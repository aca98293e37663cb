package rivals

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// stage is a contender that is served over HTTP.
type stage struct {
	Contender
	t    *testing.T
	url  string // of its HTTP server
	conn *pgx.Conn
}

func newStage(t *testing.T, name string, runs ...Run) *stage {
	t.Helper()
	c, found := Find(name)
	if !found {
		t.Fatalf("there is no contender %q", name)
	}
	address := pgtest.EmptyURL(t)
	if err := Prepare(t.Context(), c, address, runs); err != nil {
		t.Fatal(err)
	}
	o := Options{Contender: c, Postgres: address, Pool: slices.Max(c.Pools)}
	if name == "asynq" {
		o.Redis = redistest.Start(t).URL()
	}
	o.Pool = min(o.Pool, 8)
	s, err := open(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	server := httptest.NewServer(s.routes())
	t.Cleanup(server.Close)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &stage{Contender: c, t: t, url: server.URL, conn: conn}
}

// ask sends the requests on so many connections and returns how often each status
// was answered.
func (s *stage) ask(conns int, requests [][]byte) map[int]int {
	s.t.Helper()
	client, err := load.Dial(s.t.Context(), strings.TrimPrefix(s.url, "http://"), conns)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	answers, err := client.Ask(s.t.Context(), load.Job{Requests: requests})
	if err != nil {
		s.t.Fatal(err)
	}
	told := make(map[int]int)
	for _, a := range answers {
		told[a.Status]++
	}
	return told
}

// decided waits until so many requests have an outcome.
func (s *stage) decided(n int) {
	s.t.Helper()
	testwait.Until(s.t, fmt.Sprintf("%d requests are decided", n), func() bool {
		got, err := Decided(s.t.Context(), s.Contender, s.conn)
		if err != nil {
			s.t.Fatal(err)
		}
		return got == n
	})
}

func (s *stage) count() Counted {
	s.t.Helper()
	n, err := Count(s.t.Context(), s.Contender, s.conn, []string{"a"})
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func post(run, name, email string) []byte {
	body, err := json.Marshal(map[string]string{"name": name, "email": email})
	if err != nil {
		panic(err)
	}
	return load.Post("/v1/runs/"+run+"/registrations", uuid.NewString(), string(body))
}

func requests(run string, people int) [][]byte {
	var all [][]byte
	for i := range people {
		all = append(all, post(run, fmt.Sprintf("Person %d", i), fmt.Sprintf("person-%d@example.org", i)))
	}
	return all
}

// Each rival in a rush: it gives the seats that there are and refuses the rest.
func TestRivalsInARush(t *testing.T) {
	t.Parallel()
	const people, seats = 150, 20
	for _, c := range All {
		if c.Name == Ceiling {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.Name, Run{"a", seats}, Run{"warm", 5})
			s.ask(10, requests("warm", 10))
			told := s.ask(50, requests("a", people))
			if c.Async {
				s.decided(people + 10)
				if told[http.StatusAccepted] != people {
					t.Errorf("it answered %v, want 202 for all %d", told, people)
				}
			} else if told[http.StatusCreated]+told[http.StatusConflict]+told[http.StatusServiceUnavailable] != people || told[http.StatusCreated] < seats {
				t.Errorf("it answered %v; want 201 for %d of %d, 409 for the others", told, seats, people)
			}
			n := s.count()
			if !c.Async && n.Seated != told[http.StatusCreated] {
				t.Errorf("%d were told that they have a seat, %d have one", told[http.StatusCreated], n.Seated)
			}
			if n.Oversold != max(n.Seated-seats, 0) || !c.Oversells && n.Seated != seats {
				t.Errorf("%d of %d seats are given, %d of them called oversold", n.Seated, seats, n.Oversold)
			}
			if want := people - told[http.StatusServiceUnavailable]; c.Recording && n.Recorded != want {
				t.Errorf("%d of %d outcomes are recorded", n.Recorded, want)
			}
			if c.Async && (n.LastDecided.IsZero() || n.DecidedP50 <= 0 || n.DecidedP99 < n.DecidedP50) {
				t.Errorf("between accepting and deciding: %+v", n)
			}
		})
	}
}

// A person that asks again keeps the seat and gets no second one.
func TestRivalsSeatEachPersonOnce(t *testing.T) {
	t.Parallel()
	for _, c := range All {
		if c.Name == Ceiling {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.Name, Run{"a", 5})
			for i, email := range []string{"ada@example.org", "Ada@Example.org", "eve@example.org"} {
				told := s.ask(1, [][]byte{post("a", "Ada", email)})
				want := []int{http.StatusCreated, http.StatusConflict, http.StatusCreated}[i]
				if c.Async {
					want = http.StatusAccepted
				}
				if told[want] != 1 {
					t.Errorf("%s: it answered %v, want %d", email, told, want)
				}
			}
			if c.Async {
				s.decided(3)
			}
			if n := s.count(); n.Seated != 2 || c.Recording && n.Recorded != 3 {
				t.Errorf("two people have %d seats, and of 3 requests %d are recorded", n.Seated, n.Recorded)
			}
			var counter, taken int
			if err := s.conn.QueryRow(t.Context(), `SELECT attendances_count, (`+s.seats+`) FROM runs r`).Scan(&counter, &taken); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(c.Name, "skip_locked") {
				return // it has seats and no counter
			}
			if counter != taken {
				t.Errorf("the counter says %d, and %d seats are taken", counter, taken)
			}
		})
	}
}

// A queue may hand out a job twice.
func TestADecisionIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "guarded_recording", Run{"a", 5})
	db, err := openDB(t.Context(), s.conn.Config().ConnString(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	j := newJob(1, person{id: uuid.New(), name: "Ada", email: "ada@example.org", key: "ada@example.org"})
	for range 2 {
		if err := db.decide(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	var outcomes []string
	if err := s.conn.QueryRow(t.Context(), `SELECT array_agg(outcome) FROM requests`).Scan(&outcomes); err != nil {
		t.Fatal(err)
	}
	if n := s.count(); n.Seated != 1 || !slices.Equal(outcomes, []string{"confirmed"}) {
		t.Errorf("%d seats, outcomes %q; want one seat, confirmed", n.Seated, outcomes)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t, "guarded", Run{"a", 5})
	for _, c := range []struct {
		what, run, name, email string
		status                 int
	}{
		{"no such run", "b", "Ada", "ada@example.org", http.StatusNotFound},
		{"no slug", "a--b", "Ada", "ada@example.org", http.StatusNotFound},
		{"no name", "a", "", "ada@example.org", http.StatusUnprocessableEntity},
		{"no address", "a", "Ada", "ada", http.StatusUnprocessableEntity},
	} {
		if told := s.ask(1, [][]byte{post(c.run, c.name, c.email)}); told[c.status] != 1 {
			t.Errorf("%s: it answered %v, want %d", c.what, told, c.status)
		}
	}
	for body, status := range map[string]int{`{"name": "Ada", "email": "ada@example.org", "more": 1}`: http.StatusBadRequest, `{`: http.StatusBadRequest} {
		if told := s.ask(1, [][]byte{load.Post("/v1/runs/a/registrations", "k", body)}); told[status] != 1 {
			t.Errorf("%s: it answered %v, want %d", body, told, status)
		}
	}
}

// The question itself, without luck: both requests look before either takes a seat.
func TestAsAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answer
		thirdIsSeated bool
	}{{asAsked, true}, {asAskedGE, false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			url := pgtest.EmptyURL(t)
			if err := Prepare(ctx, test.contender(false), url, []Run{{"a", 1}}); err != nil {
				t.Fatal(err)
			}
			db, err := openDB(ctx, url, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			run, _, err := db.run(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if r, err := db.read(ctx, run); err != nil || r.count != 0 || r.capacity != 1 {
					t.Fatalf("a request sees %+v, %v; want one seat left", r, err)
				}
			}
			asks := func(n int) person {
				key := fmt.Sprintf("person-%d@example.org", n)
				return person{id: uuid.New(), name: "A Person", email: key, key: key}
			}
			for n := range 2 {
				batch := &pgx.Batch{}
				queueSeat(batch, false, run, asks(n))
				if err := db.SendBatch(ctx, batch).Close(); err != nil {
					t.Fatal(err)
				}
			}
			if r, err := db.read(ctx, run); err != nil || r.count != 2 {
				t.Fatalf("the run is %+v, %v; want two people on its one seat", r, err)
			}
			// == has missed its moment: the run is never full again.
			o, err := test.ask(ctx, db, false, run, asks(2))
			if err != nil || (o == seated) != test.thirdIsSeated {
				t.Errorf("the third gets %s, %v; want a seat: %t", o, err, test.thirdIsSeated)
			}
		})
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	s := newStage(t, Ceiling)
	if told := s.ask(10, requests("a", 50)); told[http.StatusAccepted] != 50 {
		t.Errorf("it answered %v, want 202 for all", told)
	}
	if told := s.ask(1, [][]byte{post("a", "", "ada@example.org")}); told[http.StatusUnprocessableEntity] != 1 {
		t.Errorf("it answered %v to what is not valid, want 422", told)
	}
	if told := s.ask(2, [][]byte{load.Get("/v1/registrations/"+uuid.NewString()+"?wait=0", `W/"0"`)}); told[http.StatusNotModified] != 1 {
		t.Errorf("it answered %v to a poll, want 304", told)
	}
}

func TestContendersSayWhatTheyLack(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range slices.Concat(All, Demonstrated) {
		if c.What == "" || c.Lacks == "" || len(c.Pools) == 0 || seen[c.Name] {
			t.Errorf("%+v is not complete, or not unique", c)
		}
		seen[c.Name] = true
	}
}
