package systemtest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

const (
	people = 600
	seats  = 250 // so that seats are still being given at the moment of the fault
)

func TestTimingARushInWhich(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// fault happens when half the people have their answer. ownsLane is the
		// worker that has the run's lane then, and other is the other one.
		fault  func(t *testing.T, s *site, ownsLane, other *process)
		within time.Duration // after the last answer, for the line to be drained
	}{
		{"nothing happens", func(*testing.T, *site, *process, *process) {}, 3 * time.Second},
		{"the worker is killed", func(_ *testing.T, _ *site, w, _ *process) {
			w.signal(syscall.SIGKILL)
		}, 5 * time.Second},
		{"the worker is frozen for ten seconds", func(_ *testing.T, _ *site, w, _ *process) {
			w.signal(syscall.SIGSTOP)
			time.AfterFunc(10*time.Second, func() { w.signal(syscall.SIGCONT) })
		}, 8 * time.Second},
		{"the worker is told to stop", func(_ *testing.T, _ *site, w, _ *process) {
			w.signal(syscall.SIGTERM)
		}, 3 * time.Second},
		{"Redis is flushed", func(t *testing.T, s *site, _, _ *process) {
			if err := s.redis.Client().FlushAll(context.Background()).Err(); err != nil {
				t.Error(err)
			}
		}, 5 * time.Second},
		{"Redis is killed and comes back empty", func(t *testing.T, s *site, _, _ *process) {
			s.redis.Kill()
			back := make(chan struct{})
			time.AfterFunc(2*time.Second, func() { s.redis.Restart(); close(back) })
			t.Cleanup(func() { <-back }) // the line may be settled before that
		}, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(seats))
			api := s.start("api")
			workers := []*process{s.start("worker"), s.start("worker")}
			answers := s.rush("a", people, []*process{api}, func() {
				w, other := workers[0], workers[1]
				if !w.hasLane() {
					w, other = other, w
				}
				if !w.hasLane() || other.hasLane() {
					t.Error("it is not clear which worker has the lane")
				}
				test.fault(t, s, w, other)
			})
			s.promised = test.within
			s.requireSettled("a", seats, answers)
		})
	}
}

// hasLane tells whether the worker has a lane, by its metrics.
func (p *process) hasLane() bool {
	p.t.Helper()
	return strings.Contains(p.metrics(), "\nlastseat_lanes 1\n")
}

// metrics returns the program's metrics.
func (p *process) metrics() string {
	p.t.Helper()
	answer, err := http.Get("http://" + p.Admin + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

func TestTimingAnAPIThatIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(seats))
	apis := []*process{s.start("api"), s.start("api")}
	s.start("worker")
	answers := s.rush("a", people, apis, func() { apis[0].signal(syscall.SIGKILL) })
	// Asking again at the other API lost no ticket and doubled none.
	s.promised = 5 * time.Second
	s.requireSettled("a", seats, answers)
}

func TestAFrozenWorkerDoesNotSettleTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	store := pgtest.Open(t, s.url)
	enrolltest.OpenRun(t, store, "a", enrolltest.Seats(5))
	api := s.start("api")
	frozen := s.start("worker")
	answers := s.rush("a", 20, []*process{api}, func() { frozen.signal(syscall.SIGSTOP) })
	other := s.start("worker")
	began := time.Now()
	testwait.Until(t, "no line is behind", func() bool {
		behind, err := store.Backlogs(t.Context(), nil, 0)
		return err == nil && len(behind) == 0
	})
	t.Logf("the line moved again after %s", time.Since(began))
	frozen.signal(syscall.SIGCONT)
	testwait.Until(t, "the worker is ready again", func() bool { // it has a lock session again
		answer, err := http.Get("http://" + frozen.Admin + "/readyz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	s.requireSettled("a", 5, answers)
	other.stop()
	frozen.stop()
}
