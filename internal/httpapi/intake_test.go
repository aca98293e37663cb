package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/testwait"
)

// block holds the run's line, so that nothing is committed, until release is
// called.
func (s *service) block(run string) (release func()) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.place.database)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Exec(s.t.Context(), `SELECT FROM lines JOIN runs ON id = run_id WHERE slug = $1 FOR UPDATE OF lines`, run); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if err := tx.Rollback(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}
}

// blocked waits until so many committers wait for a line.
func (s *service) blocked(committers int) {
	s.t.Helper()
	testwait.Until(s.t, "the committers wait for the line", func() bool {
		waiting := s.sql(`SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		return waiting[0] == fmt.Sprint(committers)
	})
}

// waiting returns how many requests wait behind what is being committed.
func (s *service) waiting() int {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "lastseat_intake_waiting" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	s.t.Fatal("there is no metric lastseat_intake_waiting")
	return 0
}

// inTheBackground sends the calls at once and returns a function that waits for
// the answers.
func inTheBackground(calls ...func() answer) (answers func() []answer) {
	done := make(chan []answer, 1)
	go func() { done <- atOnce(calls...) }()
	return func() []answer { return <-done }
}

// whileBlocked sends the calls while the run's line is held: one to each of the
// services, which the committers take, then the others, which gather behind
// them. Then it lets go and returns the answers. Call i must go to service
// i % len(on).
func whileBlocked(t *testing.T, run string, on []*service, calls ...func() answer) []answer {
	t.Helper()
	release := on[0].block(run)
	first := inTheBackground(calls[:len(on)]...)
	on[0].blocked(len(on))
	others := inTheBackground(calls[len(on):]...)
	testwait.Until(t, "the others have gathered", func() bool {
		gathered := 0
		for _, s := range on {
			gathered += s.waiting()
		}
		return gathered == len(calls)-len(on)
	})
	release()
	return append(first(), others()...)
}

func TestTimingIntake_that_is_full_refuses_at_once(t *testing.T) {
	t.Parallel()
	s := start(t, place{waiting: 1})
	s.addRun("go-1", nil)
	release := s.block("go-1")
	first := inTheBackground(func() answer { return s.post("go-1", ada, adaEmail) })
	s.blocked(1)
	second := inTheBackground(func() answer { return s.post("go-1", "Grace Hopper", "grace@example.org") })
	testwait.Until(t, "the second waits", func() bool { return s.waiting() == 1 })

	a := s.post("go-1", "Radia Perlman", "radia@example.org")
	a.expectProblem(http.StatusServiceUnavailable, "busy", "")
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 5 {
		t.Errorf("it says Retry-After: %s", a.header.Get("Retry-After"))
	}
	testwait.Promised(t, "a refusal", a.took, time.Second)
	told := make(map[string]bool)
	for range 100 {
		told[s.post("go-1", "Radia Perlman", "radia@example.org").header.Get("Retry-After")] = true
	}
	if len(told) != 5 {
		t.Errorf("a crowd is told to come back after %v seconds", told)
	}
	release()
	for _, each := range append(first(), second()...) {
		each.expect(http.StatusAccepted)
	}
	if got := s.sql(`SELECT name FROM requests ORDER BY ticket`); strings.Join(got, ", ") != ada+", Grace Hopper" {
		t.Errorf("in the line stand %v", got)
	}
}

func TestIntake_accepts_what_has_arrived_although_the_client_leaves(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	release := s.block("go-1")
	first := inTheBackground(func() answer { return s.post("go-1", ada, adaEmail) })
	s.blocked(1)
	impatient, leave := context.WithCancel(t.Context())
	c := s.asking("go-1", "Grace Hopper", "grace@example.org")
	r, err := http.NewRequestWithContext(impatient, c.method, s.base+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = c.header
	left := make(chan error, 1)
	go func() {
		response, err := s.http.Do(r)
		if err == nil {
			_ = response.Body.Close() // reported below
		}
		left <- err
	}()
	testwait.Until(t, "the second waits", func() bool { return s.waiting() == 1 })
	leave()
	if <-left == nil {
		t.Error("the client that left has an answer")
	}
	// The server gives up on the answer before anything is committed.
	testwait.Until(t, "the server has noticed", func() bool { return strings.Contains(s.log.String(), `"code":"outcome_unknown"`) })
	release()
	first()[0].expect(http.StatusAccepted)
	testwait.Until(t, "both are in the line", func() bool { return s.sql(`SELECT count(*)::text FROM requests`)[0] == "2" })
	if strings.Contains(s.log.String(), `"level":"ERROR"`) {
		t.Error("that a client left is logged as an error")
	}
}
