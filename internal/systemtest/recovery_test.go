package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// recovery is a fault, and how long a run's line may stand still because of it,
// as docs/operations.md says.
type recovery struct {
	name   string
	within time.Duration
	// proxied says that the workers reach each server through a proxy of their
	// own.
	proxied bool
	// ownPostgres says that the fault would affect other tests on a shared
	// server.
	ownPostgres bool
	// tested says that another test covers the fault, mostly
	// TestTimingARushInWhich. Here it is only for the benchmark.
	tested bool
	// fault makes the fault while requests trickle in. w has the run's lane. It
	// returns the instant from which the line must move, by the database's
	// clock.
	fault func(s *stage, w *worker) time.Time
}

var recoveries = []recovery{
	{name: "nothing", within: time.Second, tested: true, fault: func(s *stage, _ *worker) time.Time { return s.now() }},
	{name: "worker killed", within: 2 * time.Second, tested: true, fault: func(s *stage, w *worker) time.Time {
		from := s.now()
		w.signal(syscall.SIGKILL)
		return from
	}},
	{name: "worker frozen", within: 5 * time.Second, tested: true, fault: func(s *stage, w *worker) time.Time {
		from := s.now()
		w.signal(syscall.SIGSTOP)
		return from
	}},
	{name: "worker cut off from Postgres", within: 5 * time.Second, proxied: true, fault: func(s *stage, w *worker) time.Time {
		from := s.now()
		w.postgres.Set(pgtest.BlackHole)
		w.locks.Set(pgtest.BlackHole)
		return from
	}},
	{name: "worker cut off from Redis", within: 5 * time.Second, proxied: true, fault: func(s *stage, w *worker) time.Time {
		from := s.now()
		w.redis.Set(pgtest.BlackHole)
		return from
	}},
	{name: "lock connection closed", within: 2 * time.Second, fault: func(s *stage, _ *worker) time.Time {
		from := s.now()
		ended := pgtest.Query[bool](s.t, s.url, `
			SELECT pg_terminate_backend(pid) FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		if len(ended) == 0 {
			s.t.Error("no session holds a lane lock")
		}
		return from
	}},
	{name: "lock connection dead without notice", within: 2 * time.Second, proxied: true, fault: func(s *stage, w *worker) time.Time {
		from := s.now()
		w.locks.Set(pgtest.Deafen)
		return from
	}},
	{name: "Redis killed, back empty after a second", within: 3 * time.Second, tested: true, fault: func(s *stage, _ *worker) time.Time {
		from := s.now()
		s.redis.Kill()
		time.Sleep(time.Second) //nolint:forbidigo // Redis is away this long
		s.redis.Restart()
		return from
	}},
	{name: "Redis hangs for five seconds", within: 3 * time.Second, fault: func(s *stage, _ *worker) time.Time {
		from := s.now()
		s.redis.Freeze()
		time.Sleep(5 * time.Second) //nolint:forbidigo // it hangs this long
		s.redis.Thaw()
		return from
	}},
	{name: "Postgres killed and started again", within: 3 * time.Second, ownPostgres: true, fault: func(s *stage, _ *worker) time.Time {
		s.server.Kill()
		s.server.Restart() // returns when it takes connections
		return s.now()
	}},
}

// BenchmarkRecovery measures for each fault how long a run's line stands still.
// -benchtime 10x means ten rounds of each. docs/operations.md has the numbers.
func BenchmarkRecovery(b *testing.B) {
	for _, r := range recoveries {
		b.Run(strings.ReplaceAll(r.name, ",", ""), func(b *testing.B) {
			s := newStage(b, r)
			var stood []float64
			for b.Loop() {
				stood = append(stood, milliseconds(s.standstill(r)))
			}
			slices.Sort(stood)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(stood[len(stood)/2], "ms-median")
			b.ReportMetric(stood[len(stood)-1], "ms-worst")
			if worst := stood[len(stood)-1]; worst > milliseconds(r.within) {
				b.Errorf("the line stood still for %.0f ms, and %s are promised", worst, r.within)
			}
			pgtest.RequireSound(b, s.url)
		})
	}
}

func TestTimingALineMovesAgainAfter(t *testing.T) {
	t.Parallel()
	for _, r := range recoveries {
		if r.tested {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, r)
			// Three times what is promised on an idle machine. An overlooked
			// cause, such as a connection that is dead without notice, costs
			// more than that.
			testwait.Promised(t, "the line moving again", s.standstill(r), 3*r.within)
			pgtest.RequireSound(t, s.url)
		})
	}
}

// stage is a site with an api and a store, for rounds with two workers each.
type stage struct {
	*site
	api    *process
	store  *postgres.Store
	server *pgtest.Server // nil = the shared one
	rounds int
}

func newStage(t testing.TB, r recovery) *stage {
	t.Helper()
	s := &stage{}
	if r.ownPostgres {
		s.server = pgtest.StartServer(t)
		s.site = &site{t: t, url: s.server.URL(), redis: redistest.Start(t)}
	} else {
		s.site = newSite(t)
	}
	s.store = pgtest.Open(t, s.url)
	s.api = s.start("api")
	return s
}

// now returns the database's time.
func (s *stage) now() time.Time {
	s.t.Helper()
	return pgtest.Query[time.Time](s.t, s.url, `SELECT clock_timestamp()`)[0]
}

// worker is a worker with its proxies to Postgres and Redis, if it has any.
type worker struct {
	*process
	postgres, locks, redis *pgtest.Proxy
}

func (s *stage) worker(proxied bool) *worker {
	s.t.Helper()
	if !proxied {
		return &worker{process: s.start("worker")}
	}
	w := &worker{postgres: pgtest.NewProxy(s.t, s.url), locks: pgtest.NewProxy(s.t, s.url), redis: pgtest.NewProxy(s.t, s.redis.URL())}
	w.process = s.start("worker",
		"LASTSEAT_POSTGRES_URL="+w.postgres.URL(), "LASTSEAT_POSTGRES_LOCK_URL="+w.locks.URL(), "LASTSEAT_REDIS_URL="+w.redis.URL())
	return w
}

// standstill makes the fault while 50 requests a second arrive for one run, and
// returns how long its line stood still: from the fault on, the longest time
// without a decision, or the longest wait of an accepted request for its
// decision, whichever is longer. Both are measured by the database's clock.
func (s *stage) standstill(r recovery) time.Duration {
	s.t.Helper()
	s.rounds++
	run := fmt.Sprintf("round-%d", s.rounds)
	enrolltest.OpenRun(s.t, s.store, run, nil)
	workers := []*worker{s.worker(r.proxied), s.worker(r.proxied)}
	stop := s.trickle(run, r.ownPostgres)
	testwait.Until(s.t, "25 requests are decided", func() bool { return s.decided(run) > 25 })
	w := workers[0]
	if !w.hasLane() {
		w = workers[1]
	}
	from := r.fault(s, w)
	time.Sleep(6 * time.Second) //nolint:forbidigo // even the slowest part has noticed by then
	stop()
	testwait.Until(s.t, "the line is decided", func() bool {
		return pgtest.Query[bool](s.t, s.url, `
			SELECT l.last_ticket = r.settled_ticket FROM runs r JOIN lines l ON l.run_id = r.id WHERE r.slug = $1`, run)[0]
	})
	for _, w := range workers {
		w.signal(syscall.SIGCONT)
		w.signal(syscall.SIGKILL)
		<-w.exited
	}
	return time.Duration(pgtest.Query[float64](s.t, s.url, `
		SELECT max(extract(epoch FROM greatest(
			decided_at - coalesce(before, $2),
			decided_at - greatest(accepted_at, $2)
		)))::float8 * 1e9
		FROM (
			SELECT accepted_at, decided_at, lag(decided_at) OVER (ORDER BY decided_at) AS before
			FROM requests q JOIN runs r ON r.id = q.run_id
			WHERE r.slug = $1 AND q.decided_at >= $2
		) q`, run, from)[0])
}

func (s *stage) decided(run string) int64 {
	s.t.Helper()
	return pgtest.Query[int64](s.t, s.url, `SELECT settled_ticket FROM runs WHERE slug = $1`, run)[0]
}

// trickle asks for a seat of the run 50 times a second, without waiting for
// earlier answers, until the function that it returns is called. That function
// waits for the answers. Each must be 202, or 503 if refused allows it.
func (s *stage) trickle(run string, refused bool) (stop func()) {
	done := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			asking.Go(func() {
				var answer told
				if err := s.ask(s.api, run, n, &answer); err != nil && !(refused && strings.HasPrefix(err.Error(), "503 ")) {
					s.t.Errorf("request %d: %v", n, err)
				}
			})
		}
	})
	return func() {
		close(done)
		asking.Wait()
	}
}
