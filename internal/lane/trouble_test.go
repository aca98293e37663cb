package lane_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

// gatedLedger lets nothing pass before its gates are opened, those that are not
// nil.
type gatedLedger struct {
	lane.Ledger
	settle, look chan struct{} // closed = open
	settling     atomic.Int64  // how often it was asked to settle
}

func (g *gatedLedger) Settle(ctx context.Context, runs []enroll.RunID, terms enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error) {
	g.settling.Add(1)
	if g.settle != nil {
		<-g.settle
	}
	return g.Ledger.Settle(ctx, runs, terms)
}

func (g *gatedLedger) Backlogs(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Backlog, error) {
	if runs == nil && g.look != nil {
		<-g.look
	}
	return g.Ledger.Backlogs(ctx, runs, age)
}

// hangingLocks are lane locks whose pings hang until answers is closed, whatever
// their context says.
type hangingLocks struct {
	lane.Locks
	hangs   func() // at each ping
	answers <-chan struct{}
}

func (h *hangingLocks) Ping(ctx context.Context) error {
	h.hangs()
	<-h.answers
	return h.Locks.Ping(context.WithoutCancel(ctx))
}

// laneLocks returns how many lane locks are held.
func (p *place) laneLocks() int64 {
	return pgtest.Query[int64](p.t, p.url, `
		SELECT count(*) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)[0]
}

func TestLanesInTrouble(t *testing.T) {
	t.Parallel()

	t.Run("a full house of busy lanes makes room for a line that waits", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "hot", nil)
		cold := enrolltest.OpenRun(t, p.store, "cold", nil)
		w := p.worker(p.store, func(o *lane.Options) { o.MaxLanes = 1; o.LaneIdle = time.Minute })
		p.ask("hot", 0)
		testwait.Until(t, "the lane lives", func() bool { return w.lanes() == 1 })
		p.ask("cold", 1)
		n := 0
		testwait.Until(t, "the cold run is settled", func() bool {
			n++
			p.ask("hot", n)
			behind, err := p.store.Backlogs(t.Context(), []enroll.RunID{cold}, 0)
			return err == nil && len(behind) == 0
		})
		p.waitUntilDrained()
	})

	t.Run("a lane that finishes too late ends without harm", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		const timeout = 500 * time.Millisecond
		gated := &gatedLedger{Ledger: p.store, settle: make(chan struct{})}
		w := p.worker(gated, func(o *lane.Options) { o.ShutdownTimeout = timeout })
		p.ask("a", 1)
		testwait.Until(t, "the settlement has begun", func() bool { return gated.settling.Load() > 0 })
		stopped := make(chan struct{})
		go func() { w.stop(); close(stopped) }()
		time.Sleep(2 * timeout) //nolint:forbidigo // that timeout passes
		close(gated.settle)
		testwait.Receive(t, "the worker stops", stopped)
		pgtest.RequireSound(t, p.url)
	})

	t.Run("a worker that stops keeps its lane until the last transaction is done", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		gated := &gatedLedger{Ledger: p.store, settle: make(chan struct{})}
		w := p.worker(gated, func(o *lane.Options) { o.ShutdownTimeout = testwait.Limit })
		p.ask("a", 1)
		testwait.Until(t, "the settlement has begun", func() bool { return gated.settling.Load() > 0 })
		began := time.Now()
		stopped := make(chan struct{})
		go func() { w.stop(); close(stopped) }()
		testwait.Until(t, "an idle lock session would have ended", func() bool {
			if n := p.laneLocks(); n != 1 {
				t.Errorf("%s after SIGTERM %d locks are held", time.Since(began), n)
				return true
			}
			return time.Since(began) > lane.IdleLocks+time.Second
		})
		close(gated.settle)
		testwait.Receive(t, "the worker stops", stopped)
		if n := p.laneLocks(); n != 0 {
			t.Errorf("%d locks are held at the end", n)
		}
	})

	t.Run("a slow look at all runs does not cost the lock connection", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		gated := &gatedLedger{Ledger: p.store, look: make(chan struct{})}
		defer close(gated.look)
		w := p.worker(gated, nil)
		time.Sleep(2 * lane.IdleLocks) //nolint:forbidigo // an idle lock session would have ended
		if n := w.metric("lastseat_lane_locks_lost_total", ""); n > 0 {
			t.Errorf("it was lost %v times", n)
		}
	})

	t.Run("a worker says whether it is ready while the lock connection hangs", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		hangs, answers := make(chan struct{}), make(chan struct{})
		p.locks = func(ctx context.Context) (lane.Locks, error) {
			locks, err := postgres.ConnectLaneLocks(ctx, p.url, pgtest.Options, lane.IdleLocks)
			return &hangingLocks{Locks: locks, hangs: sync.OnceFunc(func() { close(hangs) }), answers: answers}, err
		}
		w := p.worker(p.store, nil)
		<-hangs
		asked := make(chan error, 1)
		go func() { asked <- w.Ready(t.Context()) }()
		if err := testwait.Receive(t, "it says whether it is ready", asked); err != nil {
			t.Errorf("it is not ready, although no lock is lost: %v", err)
		}
		close(answers)
		w.stop()
		if w.Ready(t.Context()) == nil {
			t.Error("a worker that has stopped is ready")
		}
	})

	t.Run("a clock that was set back hides no line", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		pgtest.Exec(t, p.url, `UPDATE lines SET last_accepted_at = clock_timestamp() + interval '30 minutes'`)
		p.worker(p.store, func(o *lane.Options) { o.SweepAllInterval = time.Second })
		p.accept("a", 1) // and its task is lost
		testwait.Until(t, "the run has no request left", func() bool {
			run, err := p.store.Run(t.Context(), "a")
			return err == nil && run.Waiting() == 0
		})
		pgtest.RequireSound(t, p.url)
	})

	t.Run("a Redis that is full: the wake-up gets through, and the line moves", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		p.worker(p.store, func(o *lane.Options) { o.SweepAllInterval = time.Hour })
		if err := p.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		p.ask("a", 1)
		p.waitUntilDrained()
		t.Logf("decided after %s", time.Since(began))
	})

	t.Run("a connection to Redis that is dead without notice does not make a worker deaf", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		u, err := url.Parse(p.redis.URL())
		if err != nil {
			t.Fatal(err)
		}
		proxy := pgtest.NewProxy(t, u.String())
		through, err := taskqueue.ParseRedis(proxy.URL(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		c := through.Open()
		defer c.Close()
		heard := make(chan struct{}, 1000)
		run(t, func(ctx context.Context) error {
			return pubsub.ListenWake(ctx, c, quiet, func() {}, func(pubsub.Wake) { heard <- struct{}{} })
		})
		hears := func() bool {
			if _, err := pubsub.PublishWake(t.Context(), p.client, pubsub.Wake{RunID: 1, Run: "a"}); err != nil {
				t.Fatal(err)
			}
			select {
			case <-heard:
				return true
			case <-time.After(100 * time.Millisecond):
				return false
			}
		}
		testwait.Until(t, "a wake-up is heard", hears)
		proxy.Set(pgtest.Deafen)
		for len(heard) > 0 {
			<-heard
		}
		began := time.Now()
		testwait.Until(t, "a wake-up is heard again", hears)
		t.Logf("it hears again after %s", time.Since(began))
	})

	t.Run("what a killed worker left in a queue is served by the next lane", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		p.ask("a", 1)
		testwait.Until(t, "the task is on the queue", func() bool { return p.queue("a").Pending == 1 })
		// As a worker leaves it that is killed in the handler: active, with a
		// lease that runs out.
		const keys = "asynq:{run:a}:"
		id, err := p.client.RPopLPush(t.Context(), keys+"pending", keys+"active").Result()
		if err != nil {
			t.Fatal(err)
		}
		expired := redis.Z{Score: float64(time.Now().Add(-2 * time.Minute).Unix()), Member: id}
		for _, err := range []error{
			p.client.HSet(t.Context(), keys+"t:"+id, "state", "active").Err(),
			p.client.ZAdd(t.Context(), keys+"lease", expired).Err(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		p.worker(p.store, func(o *lane.Options) { o.LaneIdle = time.Second })
		testwait.Until(t, "the task was handled", func() bool { q := p.queue("a"); return q.Size == 0 && q.Processed >= 1 })
	})
}

// TestTimingTasksThatFindNothingToDo hold up no new request.
func TestTimingTasksThatFindNothingToDo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := enrolltest.OpenRun(t, p.store, "a", nil)
	const stale = 4000
	people := make([]int, stale)
	for i := range people {
		people[i] = i
	}
	p.accept("a", people...)
	client := asynq.NewClientFromRedisClient(p.client)
	for i := range stale { // a task per request, as if each had come alone while no worker was there
		task := asynq.NewTask("requests:settle", fmt.Appendf(nil, `{"run_id":%d,"first_ticket":%d,"last_ticket":%[2]d}`, id, i+1))
		if _, err := client.Enqueue(task, asynq.Queue(lane.QueueName("a"))); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "all stale tasks are on the queue", func() bool { return p.queue("a").Pending == stale })
	pgtest.Exec(t, p.url, `UPDATE requests SET accepted_at = accepted_at - interval '1 minute'`)
	p.worker(p.store, nil)
	p.waitUntilDrained()
	began := time.Now()
	p.ask("a", stale)
	p.waitUntilDrained()
	testwait.Promised(t, fmt.Sprintf("deciding a new request with %d tasks left", p.queue("a").Pending), time.Since(began), 4*time.Second)
}
