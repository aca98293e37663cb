package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// Nobody waits for Redis: what it does not pass on, the sweep finds.
func TestTimingRedis_in_trouble_delays_decisions_by_seconds_and_answers_not_at_all(t *testing.T) {
	t.Parallel()
	type trial struct {
		*service
		accepted []registration
	}
	trials := make(map[string]*trial)
	for name, trouble := range map[string]func(*redistest.Server){
		"gone":              (*redistest.Server).Kill,
		"hanging":           (*redistest.Server).Freeze,
		"back without data": func(r *redistest.Server) { r.Kill(); r.Restart() },
	} {
		redis := redistest.Start(t)
		s := start(t, place{redis: redis})
		startWorker(t, s)
		t.Cleanup(redis.Thaw) // so that everything stops quickly
		s.addRun("go-1", seats(2))
		if got := s.decided(s.register("go-1", ada, adaEmail)).outcome(); got != "confirmed" {
			t.Fatalf("with Redis it is %s", got)
		}
		trouble(redis)
		trials[name] = &trial{service: s}
	}
	for name, s := range trials {
		for i := range 3 {
			a := s.post("go-1", "A Person", fmt.Sprintf("p%d@example.org", i))
			a.expect(http.StatusAccepted)
			testwait.Promised(t, name+": an answer", a.took, time.Second)
			s.accepted = append(s.accepted, a.registration())
		}
	}
	for name, s := range trials {
		for i, want := range []string{"confirmed", "rejected full", "rejected full"} {
			r := s.decided(s.accepted[i])
			if r.outcome() != want {
				t.Errorf("%s: ticket %d is %s, want %s", name, r.Ticket, r.outcome(), want)
			}
			if r.DecidedAt == nil {
				continue
			}
			testwait.Promised(t, name+": the decision", r.DecidedAt.Sub(r.AcceptedAt), 6*time.Second)
		}
	}
}
