package httpapi_test

import (
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/pgtest"
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
	s := start(t, place{database: database, through: proxy.URL(), commitTimeout: 2 * time.Second})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail, key, "before")
	s.get(r.Links.Self).expect(http.StatusOK)

	proxy.Set(pgtest.Refuse)
	// An open connection that breaks at the first try leaves open how it ended.
	a := s.post("go-1", "Grace Hopper", "grace@example.org", key, "during")
	if a.expect(http.StatusServiceUnavailable); a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	location := a.header.Get("Location")
	var p problem
	if a.decode(&p); (p.Code == "outcome_unknown") != (location != "") || p.Code != "outcome_unknown" && p.Code != "unavailable" {
		t.Errorf("the code is %s and the Location %q", p.Code, location)
	}
	unavailable(t, s.post("go-1", "Grace Hopper", "grace@example.org", key, "during"))
	unavailable(t, s.readings(r.ID)...)
	if got := s.sql(`SELECT count(*)::text FROM requests`); got[0] != "1" {
		t.Errorf("%s are in the line, want the one from before", got[0])
	}

	proxy.Set(pgtest.None)
	var again answer
	eventually(t, "it is back", func() bool {
		again = s.post("go-1", "Grace Hopper", "grace@example.org", key, "during")
		return again.status == http.StatusAccepted
	})
	if got := again.registration(); got.Ticket != 2 {
		t.Errorf("the ticket is %d", got.Ticket)
	}
	if location != "" {
		s.get(location).expectProblem(http.StatusNotFound, "not_found", "")
	}
	s.post("go-1", ada, adaEmail, key, "before").same(r)
}

func TestPostgres_that_answers_nothing(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, database)
	s := start(t, place{database: database, through: proxy.URL(), commitTimeout: 2 * time.Second})
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
		if a.expect(http.StatusServiceUnavailable); a.took > 10*time.Second {
			t.Errorf("answer %d took %v", i, a.took)
		}
	}
	unavailable(t, answers[1:]...)

	proxy.Set(pgtest.None)
	eventually(t, "it is back", func() bool {
		a := s.post("go-1", "Grace Hopper", "grace@example.org", key, "k")
		return a.status == http.StatusAccepted && a.registration().Ticket == 2
	})
	proxy.Set(pgtest.Refuse) // or what got stuck would take long to close
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
