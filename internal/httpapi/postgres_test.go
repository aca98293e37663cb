package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// unavailable asserts that the answers say so, and when to come back.
func unavailable(t *testing.T, answers ...answer) {
	t.Helper()
	for _, a := range answers {
		a.t = t
		if a.expectProblem(http.StatusServiceUnavailable, "unavailable", ""); a.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
		}
	}
}

// readings asks for everything at once that is read.
func (s *service) readings(id uuid.UUID) []answer {
	s.t.Helper()
	var calls []func() answer
	for _, path := range []string{
		"/v1/courses", "/v1/courses/course", "/v1/runs", "/v1/runs/go-1",
		"/v1/registrations/" + id.String(), "/v1/registrations/" + id.String() + "?wait=1", "/v1/registrations/" + id.String() + "?wait=20",
	} {
		calls = append(calls, func() answer { return s.get(path) })
	}
	return atOnce(calls...)
}

func TestPostgres_that_is_not_there_makes_the_service_unavailable(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	nowhere, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere.Host = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, place{database: database, through: nowhere.String()})
	s.addRun("go-1", nil)
	unavailable(t, s.post("go-1", ada, adaEmail), s.post("go-1", ada, adaEmail, key, "k"))
	unavailable(t, s.readings(uuid.New())...)
	if got := s.sql(`SELECT count(*)::text FROM requests`); got[0] != "0" {
		t.Errorf("%s were accepted", got[0])
	}
	// What is refused for itself is refused without asking.
	s.post("go-1", ada, "nobody").expectProblem(http.StatusUnprocessableEntity, "invalid", "email")
}

func TestPostgres_that_goes_away_and_comes_back(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, database)
	s := start(t, place{database: database, through: proxy.URL(), commitTimeout: 5 * time.Second})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail, key, "before")
	s.get(r.Links.Self).expect(http.StatusOK)

	proxy.Set(pgtest.Refuse)
	// An open connection that breaks at the first try leaves open how it ended.
	a := s.post("go-1", "Grace Hopper", "grace@example.org", key, "during")
	if a.expect(http.StatusServiceUnavailable); a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	var p problem
	if a.decode(&p); p.Code != "outcome_unknown" && p.Code != "unavailable" || a.header.Get("Location") != "" {
		t.Errorf("the code is %s and the Location %q", p.Code, a.header.Get("Location"))
	}
	unavailable(t, s.post("go-1", "Grace Hopper", "grace@example.org", key, "during"))
	unavailable(t, s.readings(r.ID)...)
	if got := s.sql(`SELECT count(*)::text FROM requests`); got[0] != "1" {
		t.Errorf("%s are in the line, want the one from before", got[0])
	}

	proxy.Set(pgtest.None)
	var again answer
	testwait.Until(t, "it is back", func() bool {
		again = s.post("go-1", "Grace Hopper", "grace@example.org", key, "during")
		return again.status == http.StatusAccepted
	})
	if got := again.registration(); got.Ticket != 2 {
		t.Errorf("the ticket is %d", got.Ticket)
	}
	s.post("go-1", ada, adaEmail, key, "before").same(r)
}

func TestTimingPostgres_that_answers_nothing(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, database)
	s := start(t, place{database: database, through: proxy.URL(), commitTimeout: 5 * time.Second})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail)
	atOnce(func() answer { return s.get("/v1/courses") }, func() answer { return s.get(r.Links.Self) }) // some connections are open

	proxy.Set(pgtest.BlackHole)
	answers := atOnce(
		func() answer { return s.post("go-1", "Grace Hopper", "grace@example.org", key, "k") },
		func() answer { return s.get("/v1/runs/go-1") },
		func() answer { return s.get("/v1/courses") },
		func() answer { return s.get(r.Links.Self) },
		func() answer { return s.get(r.Links.Self + "?wait=1") },
	)
	for i, a := range answers {
		a.expect(http.StatusServiceUnavailable)
		testwait.Promised(t, fmt.Sprintf("answer %d", i), a.took, 10*time.Second)
	}
	unavailable(t, answers[1:]...)

	proxy.Set(pgtest.None)
	testwait.Until(t, "it is back", func() bool {
		a := s.post("go-1", "Grace Hopper", "grace@example.org", key, "k")
		return a.status == http.StatusAccepted && a.registration().Ticket == 2
	})
	proxy.Set(pgtest.Refuse) // or what got stuck would take long to close
}

// TestPostgres_with_another_schema: a program that is older or newer than the
// schema is unavailable. It has no defect, and the log says what is missing.
func TestPostgres_with_another_schema(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  string
		refused []string // paths; "" stands for asking for a seat
		served  []string
		why     string
	}{
		"a column is gone":        {`ALTER TABLE runs RENAME location TO venue`, []string{"/v1/runs", "/v1/runs/go-1"}, []string{"/v1/courses", ""}, "42703"},
		"a column of the line":    {`ALTER TABLE requests RENAME email TO address`, []string{""}, []string{"/v1/runs/go-1"}, "42703"},
		"a table is gone":         {`ALTER TABLE courses RENAME TO subjects`, []string{"/v1/courses", "/v1/courses/course", "/v1/runs"}, []string{""}, "42P01"},
		"a column must be filled": {`ALTER TABLE requests ADD source text NOT NULL DEFAULT ''; ALTER TABLE requests ALTER source DROP DEFAULT`, []string{""}, []string{"/v1/runs"}, "23502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, place{})
			s.addRun("go-1", nil)
			ask := func(path string, n int) answer {
				if path == "" {
					return s.post("go-1", ada, fmt.Sprintf("ada-%d@example.org", n))
				}
				return s.get(path)
			}
			for _, path := range append(test.refused, test.served...) { // the statements are prepared
				if a := ask(path, 1); a.status >= 400 {
					t.Fatalf("before that %q is %d", path, a.status)
				}
			}
			s.exec(test.change)
			for _, path := range test.refused {
				unavailable(t, ask(path, 2))
			}
			for _, path := range test.served {
				if a := ask(path, 3); a.status >= 400 {
					t.Errorf("%q is %d: %s", path, a.status, a.body)
				}
			}
			if !strings.Contains(s.log.String(), test.why) {
				t.Errorf("the log does not say %s", test.why)
			}
		})
	}
	t.Run("a column has another type", func(t *testing.T) {
		t.Parallel()
		s := start(t, place{})
		s.addRun("go-1", nil)
		s.get("/v1/runs/go-1").expect(http.StatusOK)
		s.exec(`ALTER TABLE runs ALTER attendances_count TYPE bigint`) // "cached plan must not change result type"
		unavailable(t, s.get("/v1/runs/go-1"))
		s.get("/v1/runs/go-1").expect(http.StatusOK)
	})
}

func TestPostgres_that_breaks_off_during_a_commit_costs_no_ticket(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pgtest.Fault{
		"before it got there": pgtest.CutRequest,
		"after it happened":   pgtest.CutReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := pgtest.URL(t)
			proxy := pgtest.NewProxy(t, database)
			s := start(t, place{database: database, through: proxy.URL()})
			s.addRun("go-1", nil)
			s.register("go-1", ada, adaEmail)
			proxy.Set(fault)
			r := s.register("go-1", "Grace Hopper", "grace@example.org")
			if r.Ticket != 2 {
				t.Errorf("the ticket is %d", r.Ticket)
			}
			if got := s.sql(`SELECT id::text FROM requests WHERE ticket > 1`); len(got) != 1 || got[0] != r.ID.String() {
				t.Errorf("behind the first stand %v, want %v", got, r.ID)
			}
		})
	}
}
