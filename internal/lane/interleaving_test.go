package lane_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// gate holds the first goroutine that passes it after it was armed.
type gate struct {
	armed   atomic.Bool
	reached chan struct{} // closed when a goroutine is held
	opened  chan struct{}
	open    func()
}

func newGate(t *testing.T) *gate {
	g := &gate{reached: make(chan struct{}), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.open)
	return g
}

func (g *gate) pass() {
	if g.armed.CompareAndSwap(true, false) {
		close(g.reached)
		<-g.opened
	}
}

// at returns a function that passes the gate at uses of one kind.
func (g *gate) at(kind string) func(use string) {
	return func(use string) {
		if use == kind {
			g.pass()
		}
	}
}

// hookedLocks are lane locks that call a function before each use of their
// connection, and one after it. They fail the test if two goroutines use the
// connection at once.
type hookedLocks struct {
	lane.Locks
	t             testing.TB
	before, after func(use string)
	patient       bool // the uses have no deadline, for hooks that take long
	inUse         atomic.Bool
}

func (h *hookedLocks) use(ctx context.Context, use string, do func(context.Context) error) error {
	if !h.inUse.CompareAndSwap(false, true) {
		h.t.Errorf("%s while the lock connection was in use", use)
	}
	defer h.inUse.Store(false)
	if h.patient {
		ctx = context.WithoutCancel(ctx)
	}
	if h.before != nil {
		h.before(use)
	}
	err := do(ctx)
	if h.after != nil {
		h.after(use)
	}
	return err
}

func (h *hookedLocks) TryLock(ctx context.Context, runs ...enroll.RunID) (got []enroll.RunID, err error) {
	err = h.use(ctx, "TryLock", func(ctx context.Context) (err error) {
		got, err = h.Locks.TryLock(ctx, runs...)
		return err
	})
	return got, err
}

func (h *hookedLocks) Unlock(ctx context.Context, runs ...enroll.RunID) error {
	return h.use(ctx, "Unlock", func(ctx context.Context) error { return h.Locks.Unlock(ctx, runs...) })
}

func (h *hookedLocks) Ping(ctx context.Context) error { return h.use(ctx, "Ping", h.Locks.Ping) }

// hookLocks has the next worker call the functions, either of which may be nil,
// before and after each use of its lock connection. However long they take, the
// connection is not lost.
func (p *place) hookLocks(before, after func(use string)) {
	p.locks = func(ctx context.Context) (lane.Locks, error) {
		locks, err := postgres.ConnectLaneLocks(ctx, p.url, pgtest.Options, time.Hour)
		if err != nil {
			return nil, err
		}
		return &hookedLocks{Locks: locks, t: p.t, before: before, after: after, patient: true}, nil
	}
}

// recheckLedger is a ledger that calls a function before and after each look at
// the lines of lanes that have ended.
type recheckLedger struct {
	lane.Ledger
	before, after func()
}

func (r *recheckLedger) Backlogs(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Backlog, error) {
	if age > 0 { // a sweep
		return r.Ledger.Backlogs(ctx, runs, age)
	}
	if r.before != nil {
		r.before()
	}
	lines, err := r.Ledger.Backlogs(context.WithoutCancel(ctx), runs, age)
	if r.after != nil {
		r.after()
	}
	return lines, err
}

// hearingWorker is a worker that hears of every request from now on.
func (p *place) hearingWorker(ledger lane.Ledger, change func(*lane.Options)) *worker {
	p.t.Helper()
	listening := func() int64 {
		const channel = "lastseat:1:wake"
		n, err := p.client.PubSubNumSub(context.Background(), channel).Result()
		if err != nil {
			p.t.Fatal(err)
		}
		return n[channel]
	}
	before := listening()
	w := p.worker(ledger, change)
	testwait.Until(p.t, "the worker hears of requests", func() bool { return listening() > before })
	return w
}

// neverSweeps has a worker depend on wake-ups.
func neverSweeps(o *lane.Options) { o.SweepInterval, o.SweepAllInterval = time.Hour, time.Hour }

// serving returns whether an Asynq server serves the queue of the run.
func (p *place) serving(slug string) bool {
	p.t.Helper()
	servers, err := asynq.NewInspectorFromRedisClient(p.client).Servers()
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.ContainsFunc(servers, func(s *asynq.ServerInfo) bool { return s.Queues[lane.QueueName(slug)] > 0 })
}

// TestARequestComesWhileALaneEnds at each instant of that. It is settled without
// a sweep.
func TestARequestComesWhileALaneEnds(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*place, *recheckLedger, *gate){
		"before its lock is released":        func(p *place, _ *recheckLedger, g *gate) { p.hookLocks(g.at("Unlock"), nil) },
		"when its lock was just released":    func(p *place, _ *recheckLedger, g *gate) { p.hookLocks(nil, g.at("Unlock")) },
		"before its line is looked at":       func(_ *place, ledger *recheckLedger, g *gate) { ledger.before = g.pass },
		"when its line was just looked at":   func(_ *place, ledger *recheckLedger, g *gate) { ledger.after = g.pass },
		"while the lock of another is taken": func(p *place, _ *recheckLedger, g *gate) { p.hookLocks(nil, g.at("TryLock")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, g := newPlace(t), newGate(t)
			enrolltest.OpenRun(t, p.store, "a", nil)
			enrolltest.OpenRun(t, p.store, "b", nil)
			ledger := &recheckLedger{Ledger: p.store}
			hold(p, ledger, g)
			w := p.hearingWorker(ledger, func(o *lane.Options) { neverSweeps(o); o.LaneIdle = 100 * time.Millisecond })
			p.ask("a", 1)
			p.waitUntilDrained()
			g.armed.Store(true)
			p.ask("b", 1)
			<-g.reached
			testwait.Until(t, "the run is not served", func() bool { return !p.serving("a") })
			p.ask("a", 2)
			testwait.Until(t, "a task is on the queue", func() bool { return p.queue("a").Size > 0 })
			g.open()
			p.waitUntilDrained()
			waitUntilSettled(t, 3, w)
			// The look at the line of a lane that has ended takes up what is older than a
			// second like a sweep, and on a busy machine that may be the last request.
			young := pgtest.Query[float64](t, p.url, `SELECT count(*)::float8 FROM requests WHERE decided_at < accepted_at + interval '1 second'`)[0]
			if n := w.settled("task"); n < young {
				t.Errorf("%v requests were settled by tasks, and %v within a second", n, young)
			}
			testwait.Until(t, "no lane lives and no lock is held", func() bool { return w.lanes() == 0 && p.laneLocks() == 0 })
		})
	}
}

// silencedRedis hears no messages, as while a subscription is made anew.
type silencedRedis struct{ redis.UniversalClient }

func (s silencedRedis) Subscribe(ctx context.Context, _ ...string) *redis.PubSub {
	sub := s.UniversalClient.Subscribe(ctx)
	_ = sub.Close()
	return sub
}

// TestOnlyAnotherWorkerHearsOfARequestWhileALaneEnds and finds that the lock is
// still held. The worker of the lane looks at the line after it has released the
// lock, and not before.
func TestOnlyAnotherWorkerHearsOfARequestWhileALaneEnds(t *testing.T) {
	t.Parallel()
	p, g := newPlace(t), newGate(t)
	enrolltest.OpenRun(t, p.store, "a", nil)
	tried := newGate(t)
	tried.open()
	p.hookLocks(nil, tried.at("TryLock"))
	second := p.hearingWorker(p.store, neverSweeps)
	p.accept("a", 1)
	pgtest.Exec(t, p.url, `UPDATE requests SET accepted_at = accepted_at - interval '1 minute'`)

	p.hookLocks(g.at("Unlock"), nil)
	g.armed.Store(true)
	p.messages = silencedRedis{p.connector().Open()}
	first := p.worker(p.store, neverSweeps) // it looks at all lines once
	<-g.reached
	tried.armed.Store(true)
	p.ask("a", 2)
	<-tried.reached
	g.open()
	p.waitUntilDrained()
	waitUntilSettled(t, 2, first, second)
}

// TestAWorkerStopsWhileItStartsALane: the worker that has just taken the lock, or
// has just found that the line of an ended lane has work, leaves the lane to
// another one at once. It tells its lanes to stop although the lock connection is
// in use.
func TestAWorkerStopsWhileItStartsALane(t *testing.T) {
	t.Parallel()

	t.Run("whose lock was just taken", func(t *testing.T) {
		t.Parallel()
		p, g := newPlace(t), newGate(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		p.hookLocks(nil, g.at("TryLock"))
		g.armed.Store(true)
		first := p.hearingWorker(p.store, neverSweeps)
		p.ask("a", 1)
		<-g.reached
		p.locks = nil
		second := p.hearingWorker(p.store, neverSweeps)
		p.ask("a", 2) // which the second cannot settle, and remembers
		testwait.Until(t, "the task is on the queue", func() bool { return p.queue("a").Pending > 0 })
		go first.stop()
		testwait.Until(t, "the first worker has no locks", func() bool { return first.Ready(t.Context()) != nil })
		g.open()
		p.waitUntilDrained()
		waitUntilSettled(t, 2, second)
		if n := second.settled("task"); n != 2 {
			t.Errorf("%v requests were settled by tasks, want 2", n)
		}
	})

	t.Run("for a line that it has just found", func(t *testing.T) {
		t.Parallel()
		p, g := newPlace(t), newGate(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		first := p.hearingWorker(&recheckLedger{Ledger: p.store, before: g.pass}, neverSweeps)
		g.armed.Store(true)
		p.ask("a", 1)
		<-g.reached
		second := p.hearingWorker(p.store, neverSweeps)
		p.accept("a", 2) // and its wake-up is lost
		go first.stop()
		testwait.Until(t, "the first worker has no locks", func() bool { return first.Ready(t.Context()) != nil })
		g.open()
		p.waitUntilDrained()
		waitUntilSettled(t, 1, first)
		waitUntilSettled(t, 1, second)
	})
}

// TestALineWaitsForCapacityThatIsLost: the lane that made room for it loses its
// lock connection instead of releasing its lock.
func TestALineWaitsForCapacityThatIsLost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, slug := range []string{"a", "b", "c"} {
		enrolltest.OpenRun(t, p.store, slug, nil)
	}
	var cut atomic.Bool
	p.hookLocks(func(use string) {
		if use == "Unlock" && cut.CompareAndSwap(true, false) {
			pgtest.Exec(t, p.url, terminateLockSessions)
		}
	}, nil)
	w := p.worker(p.store, func(o *lane.Options) { o.MaxLanes = 1; o.LaneIdle = time.Minute; o.SweepAllInterval = time.Second })
	p.ask("a", 1)
	p.waitUntilDrained()
	cut.Store(true)
	p.ask("b", 1)
	p.ask("c", 1)
	p.waitUntilDrained()
	testwait.Until(t, "the locks are lost", func() bool { return w.metric("lastseat_lane_locks_lost_total", "") > 0 })
	if lanes := w.lanes(); lanes > 1 {
		t.Errorf("%v lanes", lanes)
	}
	w.stop()
	if n := p.laneLocks(); n != 0 {
		t.Errorf("%d locks are held at the end", n)
	}
	pgtest.RequireSound(t, p.url)
}

// terminateLockSessions ends every session that holds a lane lock.
const terminateLockSessions = `
	SELECT pg_terminate_backend(pid) FROM pg_locks
	WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// TestLockConnectionsAreLostAllTheTime, also while locks are taken and released.
// Lanes end and start in two workers that share little capacity. Every request is
// settled once, and each lock is released as often as it was taken.
func TestLockConnectionsAreLostAllTheTime(t *testing.T) {
	t.Parallel()
	const runs, rounds, losses = 12, 15, 20
	p := newPlace(t)
	for i := range runs {
		enrolltest.OpenRun(t, p.store, fmt.Sprintf("run-%d", i), enrolltest.Seats(10))
	}
	p.hookLocks(nil, nil) // which notices a connection that two goroutines use
	small := func(o *lane.Options) { attentive(o); o.MaxLanes = 4; o.LaneIdle = 20 * time.Millisecond }
	workers := []*worker{p.worker(p.store, small), p.worker(p.store, small)}
	var g errgroup.Group
	for i := range runs {
		g.Go(func() error {
			for round := range rounds {
				p.ask(fmt.Sprintf("run-%d", i), round)
			}
			return nil
		})
	}
	g.Go(func() error {
		for range losses {
			pgtest.Exec(t, p.url, terminateLockSessions)
			for _, w := range workers {
				if lanes := w.lanes(); lanes > 4 {
					t.Errorf("%v lanes", lanes)
				}
			}
			p.ask("run-0", 100)               // which is refused, as that address has a seat
			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the pace of the losses is the measure
		}
		return nil
	})
	_ = g.Wait()
	p.waitUntilDrained()
	waitUntilSettled(t, runs*rounds+losses, workers...)
	testwait.Until(t, "no lane lives and no lock is held", func() bool { return workers[0].lanes()+workers[1].lanes() == 0 && p.laneLocks() == 0 })
	lost := workers[0].metric("lastseat_lane_locks_lost_total", "") + workers[1].metric("lastseat_lane_locks_lost_total", "")
	if lost == 0 {
		t.Error("no lock connection was lost")
	}
	pgtest.RequireSound(t, p.url)
}
