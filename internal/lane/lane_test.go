package lane_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) {
	taskqueue.LogRedis(quiet)
	testwait.Main(m)
}

var quiet = slog.New(slog.DiscardHandler)

// place is a database and a Redis with what an API process does to them.
type place struct {
	t     *testing.T
	url   string
	store *postgres.Store
	redis *redistest.Server

	sender *lane.Sender
	client redis.UniversalClient

	// What the next worker uses instead of what it would, unless it is nil.
	locks    func(context.Context) (lane.Locks, error)
	queues   redis.UniversalClient
	messages redis.UniversalClient
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return newPlaceOn(t, pgtest.URL(t))
}

func newPlaceOn(t *testing.T, url string) *place {
	t.Helper()
	p := &place{t: t, url: url, redis: redistest.Start(t)}
	p.store = pgtest.Open(t, p.url)
	p.client = p.connector().Open()
	t.Cleanup(func() { _ = p.client.Close() })
	p.sender = lane.NewSender(p.client, time.Second, 50*time.Millisecond, quiet, prometheus.NewRegistry())
	run(t, p.sender.Run)
	return p
}

func (p *place) connector() taskqueue.Redis {
	p.t.Helper()
	r, err := taskqueue.ParseRedis(p.redis.URL(), time.Second)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// run runs something until the test ends or the function it returns is called.
func run(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// accept puts people into a run's line without ringing.
func (p *place) accept(slug string, people ...int) enroll.Bundle {
	p.t.Helper()
	var all []enroll.Submission
	for _, n := range people {
		all = append(all, enrolltest.Person(slug, n))
	}
	verdicts, err := p.store.Accept(context.Background(), all)
	if err != nil {
		p.t.Fatal(err)
	}
	first, last := verdicts[0].Receipt, verdicts[len(verdicts)-1].Receipt
	return enroll.Bundle{RunID: first.RunID, Run: slug, First: first.Ticket, Last: last.Ticket}
}

// ask puts people into a run's line and rings.
func (p *place) ask(slug string, people ...int) { p.sender.Notify(p.accept(slug, people...)) }

// waitUntilDrained waits until every line is settled.
func (p *place) waitUntilDrained() {
	p.t.Helper()
	testwait.Until(p.t, "no line is behind", func() bool {
		behind, err := p.store.Backlogs(context.Background(), nil, 0)
		return err == nil && len(behind) == 0
	})
}

// worker is what a worker process does.
type worker struct {
	*lane.Supervisor
	reg  *prometheus.Registry
	stop func()
}

func (p *place) worker(ledger lane.Ledger, change func(*lane.Options)) *worker {
	p.t.Helper()
	o := lane.Options{
		MaxLanes: 100, LaneIdle: 300 * time.Millisecond, PollBudget: 2000,
		SweepInterval: time.Second, SweepAllInterval: 5 * time.Second, ShutdownTimeout: 10 * time.Second,
	}
	if change != nil {
		change(&o)
	}
	w := &worker{reg: prometheus.NewRegistry()}
	metrics := lane.NewMetrics(w.reg)
	messages, queues := p.messages, p.queues
	if messages == nil {
		messages = p.connector().Open()
	}
	if queues == nil {
		queues = p.connector().OpenForServers()
	}
	announcer := pubsub.NewAnnouncer(messages)
	settler := lane.NewSettler(ledger, 2, enrolltest.SettleLimits(512), announcer.Announce, quiet, metrics)
	connect := p.locks
	if connect == nil {
		connect = func(ctx context.Context) (lane.Locks, error) {
			return postgres.ConnectLaneLocks(ctx, p.url, pgtest.Options, lane.IdleLocks)
		}
	}
	w.Supervisor = lane.NewSupervisor(connect, ledger, settler, queues, messages, o, quiet, metrics)
	w.stop = run(p.t, func(ctx context.Context) error {
		settling, stopSettling := context.WithCancel(context.Background())
		var g errgroup.Group
		g.Go(func() error { defer stopSettling(); return w.Run(ctx) })
		g.Go(func() error { return settler.Run(settling) })
		g.Go(func() error { return announcer.Run(settling) })
		defer messages.Close()
		defer queues.Close()
		return g.Wait()
	})
	testwait.Until(p.t, "the worker is ready", func() bool { return w.Ready(context.Background()) == nil })
	testwait.Until(p.t, "the worker hears wake-ups", func() bool { // it hears
		n, err := p.client.PubSubNumSub(context.Background(), "lastseat:1:wake").Result()
		return err != nil || n["lastseat:1:wake"] > 0
	})
	return w
}

// settled returns how many requests this worker had settled by "task", "sweep"
// or "stall".
func (w *worker) settled(by string) float64 {
	return w.metric("lastseat_requests_settled_total", by)
}

// waitUntilSettled waits until the workers have counted so many requests: they
// count after the commit that others see.
func waitUntilSettled(t *testing.T, n float64, workers ...*worker) {
	t.Helper()
	testwait.Until(t, "all requests are settled", func() bool {
		sum := 0.0
		for _, w := range workers {
			sum += w.settled("task") + w.settled("sweep") + w.settled("stall")
		}
		if sum > n {
			t.Fatalf("%v requests were counted, want %v", sum, n)
		}
		return sum == n
	})
}

func (w *worker) lanes() float64 { return w.metric("lastseat_lanes", "") }

// metric returns the value of a counter or gauge whose one label, if it has any,
// has the value.
func (w *worker) metric(name, label string) float64 {
	families, err := w.reg.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	panic("there is no metric " + name)
}

// observer is a ledger that notes whether two settle a run at once.
type observer struct {
	lane.Ledger
	delay time.Duration // makes overlaps likely

	mu       sync.Mutex
	inside   map[enroll.RunID]int
	overlaps int
	calls    int
}

func observe(l lane.Ledger) *observer {
	return &observer{Ledger: l, delay: 2 * time.Millisecond, inside: make(map[enroll.RunID]int)}
}

func (o *observer) Settle(ctx context.Context, runs []enroll.RunID, terms enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error) {
	o.mu.Lock()
	o.calls++
	for _, run := range runs {
		if o.inside[run]++; o.inside[run] > 1 {
			o.overlaps++
		}
	}
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		for _, run := range runs {
			o.inside[run]--
		}
		o.mu.Unlock()
	}()
	time.Sleep(o.delay) //nolint:forbidigo // in which another may come
	return o.Ledger.Settle(ctx, runs, terms)
}

// TestTwoWorkersAndManyRuns: one at a time per run, in order, by tasks. Not
// parallel: on a machine that is busy with other tests lines wait for a second
// for no fault of the queues, and the sweep rightly takes them up.
func TestTwoWorkersAndManyRuns(t *testing.T) {
	p := newPlace(t)
	watched := observe(p.store)
	workers := []*worker{p.worker(watched, nil), p.worker(watched, nil)}
	const runs, rounds = 30, 12
	for i := range runs {
		enrolltest.OpenRun(t, p.store, fmt.Sprintf("run-%d", i), enrolltest.Seats(10))
	}
	var g errgroup.Group
	for i := range runs {
		g.Go(func() error {
			for round := range rounds {
				p.ask(fmt.Sprintf("run-%d", i), round*2, round*2+1)
			}
			return nil
		})
	}
	_ = g.Wait()
	p.waitUntilDrained()
	waitUntilSettled(t, 2*runs*rounds, workers...)
	task, sweep := 0.0, 0.0
	for _, w := range workers {
		task, sweep = task+w.settled("task"), sweep+w.settled("sweep")
	}
	// Where nobody had to wait for a second, which a machine that is busy with
	// other things makes people do, the sweep has no business.
	slowest := pgtest.Query[float64](t, p.url, `SELECT max(extract(epoch FROM decided_at - accepted_at))::float8 FROM requests`)[0]
	// A line that stands still for three seconds is settled without its lane's lock.
	if watched.overlaps > 0 && slowest < 3 {
		t.Errorf("%d times two settled one run at once", watched.overlaps)
	}
	if share := task / (task + sweep); share < 0.95 && slowest < 1 {
		t.Errorf("%v requests were settled by tasks and %v by the sweep; the slowest waited %v s", task, sweep, slowest)
	}
	if idle := workers[0].settled("task") == 0 || workers[1].settled("task") == 0; idle && slowest < 1 {
		t.Error("one of the workers had nothing to do")
	}
	pgtest.RequireSound(t, p.url)
	testwait.Until(t, "no lane is left", func() bool { return workers[0].lanes()+workers[1].lanes() == 0 }) // a run without work costs nothing
	p.requireNoTasks(runs)
}

func TestLanes(t *testing.T) {
	t.Parallel()

	t.Run("what waited before the first worker came is settled", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		id := enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(1))
		p.accept("a", 1, 2, 3)
		pgtest.Exec(t, p.url, `UPDATE requests SET accepted_at = accepted_at - interval '1 minute' WHERE run_id = $1`, id)
		w := p.worker(p.store, nil)
		p.waitUntilDrained()
		waitUntilSettled(t, 3, w)
		if n := w.settled("sweep"); n != 3 {
			t.Errorf("the sweep settled %v, want 3", n)
		}
	})

	t.Run("a wake-up at any moment of a lane's end is not lost", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		w := p.worker(p.store, func(o *lane.Options) {
			o.LaneIdle = 50 * time.Millisecond
			o.SweepInterval, o.SweepAllInterval = time.Hour, time.Hour
		})
		for i := range 60 {
			p.ask("a", i)
			p.waitUntilDrained()
			time.Sleep(time.Duration(i) * 2 * time.Millisecond) //nolint:forbidigo // 0 to 120 ms: before, at and after the end
		}
		waitUntilSettled(t, 60, w)
	})

	t.Run("no more lanes than the worker may have, and everybody's turn comes", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.worker(p.store, func(o *lane.Options) { o.MaxLanes = 2; o.LaneIdle = 20 * time.Millisecond })
		for i := range 10 {
			slug := fmt.Sprintf("run-%d", i)
			enrolltest.OpenRun(t, p.store, slug, nil)
			p.ask(slug, 1)
		}
		p.waitUntilDrained()
	})

	t.Run("a worker that stops hands its lines over at once", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		slow := func(o *lane.Options) { o.SweepInterval, o.SweepAllInterval = time.Hour, time.Hour }
		first := p.worker(p.store, slow)
		for i := range 20 {
			p.ask("a", i)
		}
		second := p.worker(p.store, slow)
		for i := range 20 {
			p.ask("a", 100+i)
		}
		first.stop()
		for i := range 20 {
			p.ask("a", 200+i)
		}
		p.waitUntilDrained()
		waitUntilSettled(t, 60, first, second)
		pgtest.RequireSound(t, p.url)
	})

	t.Run("a worker that loses its lock connection gets another and goes on", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		w := p.worker(p.store, nil)
		p.ask("a", 1)
		p.waitUntilDrained()
		pgtest.Exec(t, p.url, `
			SELECT pg_terminate_backend(pid) FROM pg_locks
			WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		p.ask("a", 2, 3)
		p.waitUntilDrained()
		testwait.Until(t, "the worker is ready", func() bool { return w.Ready(context.Background()) == nil })
		pgtest.RequireSound(t, p.url)
	})

	t.Run("a task that is not ours is archived, and the line moves on", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		p.worker(p.store, nil)
		client := asynq.NewClientFromRedisClient(p.client)
		if _, err := client.Enqueue(asynq.NewTask("requests:settle", []byte(`{"run_id":"x"}`)), asynq.Queue(lane.QueueName("a"))); err != nil {
			t.Fatal(err)
		}
		p.ask("a", 1)
		p.waitUntilDrained()
		testwait.Until(t, "the task is archived", func() bool { return p.queue("a").Archived == 1 })
	})
}

// queue returns what Asynq knows of a run's queue.
func (p *place) queue(slug string) *asynq.QueueInfo {
	p.t.Helper()
	inspector := asynq.NewInspectorFromRedisClient(p.client)
	names, err := inspector.Queues()
	if err == nil && !slices.Contains(names, lane.QueueName(slug)) {
		return &asynq.QueueInfo{} // nobody has asked yet
	}
	info, err := inspector.GetQueueInfo(lane.QueueName(slug))
	if err != nil {
		p.t.Fatal(err)
	}
	return info
}

// requireNoTasks checks that so many queues are known and all of them empty.
func (p *place) requireNoTasks(queues int) {
	p.t.Helper()
	inspector := asynq.NewInspectorFromRedisClient(p.client)
	names, err := inspector.Queues()
	if err != nil || len(names) != queues {
		p.t.Errorf("%d queues, want %d: %v", len(names), queues, err)
	}
	left := make(map[string]int)
	testwait.Until(p.t, "no task is left", func() bool {
		clear(left)
		for _, name := range names {
			info, err := inspector.GetQueueInfo(name)
			if err != nil {
				p.t.Fatal(err)
			}
			if info.Size > 0 {
				left[name] = info.Size
			}
		}
		return len(left) == 0
	})
}
