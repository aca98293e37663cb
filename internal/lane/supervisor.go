package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
	"github.com/lastseat/lastseat/internal/pubsub"
)

const (
	// elsewhereFor is how long a lane is remembered as owned by another worker.
	elsewhereFor = time.Second

	// A lane's server polls its queue at most this often, and at least this
	// often however many lanes share the budget.
	minPoll = 20 * time.Millisecond
	maxPoll = time.Second
)

// Options bound a supervisor.
type Options struct {
	MaxLanes         int
	LaneIdle         time.Duration // after which a lane without work ends
	PollBudget       int           // polls per second, over all lanes
	SweepInterval    time.Duration // between looks at the runs heard of lately
	SweepAllInterval time.Duration // between looks at all runs
	ShutdownTimeout  time.Duration // for lanes to finish what they settle
}

// Supervisor starts and ends the lanes of one worker.
type Supervisor struct {
	connect func(context.Context) (Locks, error)
	ledger  Ledger
	settler *Settler
	redis   redis.UniversalClient // for Asynq
	signals redis.UniversalClient // for messages
	options Options
	log     *slog.Logger
	metrics *Metrics
	blind   *outage.Log // the sweep cannot look

	recent recentRuns
	deaf   atomic.Bool // Redis did not answer this worker at the last two sweeps
	ready  atomic.Bool // there is a lock connection, and this worker is not stopping

	ending  sync.WaitGroup // lanes that have not ended, and last looks at their lines
	closing sync.WaitGroup // servers of lanes that have
	stalls  sync.WaitGroup // lines that are settled without their lanes

	// mu also guards the lock connection: starting or ending a lane talks to the
	// database under it, for a millisecond or so, and for up to pingTimeout when
	// the database hangs. Health checks must not take it.
	mu        sync.Mutex
	locks     Locks // nil while there is no connection
	lanes     map[enroll.RunID]*lane
	lose      context.CancelCauseFunc // cancels all lanes of this connection
	held      context.Context
	elsewhere map[enroll.RunID]time.Time
	crowded   []call // lines that wait for a place, the first come first
	retiring  int    // lanes that were told to end for them
	stopping  bool

	look  chan struct{}         // has room for one: look at all runs now
	rung  chan call             // who rang for lanes
	found chan []enroll.Backlog // has room for one: what the sweep has found
	ended chan *lane            // lanes that settle no more
}

// NewSupervisor returns a supervisor that gets its lock connection from connect.
func NewSupervisor(connect func(context.Context) (Locks, error), ledger Ledger, settler *Settler,
	asynqRedis, signals redis.UniversalClient, o Options, log *slog.Logger, m *Metrics) *Supervisor {
	return &Supervisor{
		connect: connect, ledger: ledger, settler: settler, redis: asynqRedis, signals: signals,
		options: o, log: log, metrics: m,
		blind: outage.New(log, slog.LevelWarn, "the sweep cannot look for lines that wait",
			"the sweep can look for waiting lines again"),
		lanes:     make(map[enroll.RunID]*lane),
		elsewhere: make(map[enroll.RunID]time.Time),
		recent:    recentRuns{runs: make(map[enroll.RunID]*recentRun)},
		look:      make(chan struct{}, 1),
		rung:      make(chan call, atOnce),
		found:     make(chan []enroll.Backlog, 1),
		ended:     make(chan *lane),
	}
}

// Ready returns nil if this worker can own lanes. It never waits, so it needs no
// context: mu can be held while the database hangs.
func (s *Supervisor) Ready(context.Context) error {
	if !s.ready.Load() {
		return enroll.Errorf(enroll.Unavailable, "there is no lane lock connection")
	}
	return nil
}

// Run serves lanes until ctx ends. Then every lane finishes the transaction it
// is in, the locks are released and the other workers are woken. The settler
// must run until Run has returned.
func (s *Supervisor) Run(ctx context.Context) error {
	// The locks are kept until the last lane has ended.
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	var keeper errgroup.Group
	keeper.Go(func() error { return s.keepLocks(keeping) })
	keeper.Go(func() error { return s.takeLeave(keeping) })

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return s.sweep(running) })
	g.Go(func() error { return s.serveLeftovers(running) })
	g.Go(func() error {
		return pubsub.ListenWake(running, s.signals, s.log, func() {}, func(w pubsub.Wake) {
			s.ring(running, call{run: w.RunID, slug: w.Run, by: byWake, released: w.Released})
		})
	})
	g.Go(func() error { return s.answer(running) })
	g.Go(func() error { return s.takeUp(running) })
	err := g.Wait()
	runs := s.endLanes()
	stopKeeping()
	err = errors.Join(err, keeper.Wait())
	crashpoint.Here(crashpoint.LanesLeft)
	s.handOver(context.WithoutCancel(ctx), runs)
	return err
}

// endLanes tells all lanes to end, waits for them, and returns their runs.
func (s *Supervisor) endLanes() map[enroll.RunID]string {
	runs := make(map[enroll.RunID]string)
	s.mu.Lock()
	s.stopping = true
	s.ready.Store(false)
	for run, l := range s.lanes {
		runs[run] = l.slug
		l.stop()
	}
	s.mu.Unlock()
	if !within(s.options.ShutdownTimeout, s.ending.Wait) {
		s.log.Warn("lanes did not finish in time: what they settle may still happen")
		s.mu.Lock()
		if s.locks != nil {
			s.lose(context.Canceled)
		}
		s.mu.Unlock()
		s.ending.Wait()
	}
	return runs
}

// handOver tells the other workers that the runs' lanes are free, whatever they
// remember, and waits for the servers to acknowledge what was handled. If Redis
// hangs, those tasks come again later and find nothing to do.
func (s *Supervisor) handOver(ctx context.Context, runs map[enroll.RunID]string) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ShutdownTimeout)
	defer cancel()
	for run, slug := range runs {
		if _, err := pubsub.PublishWake(ctx, s.signals, pubsub.Wake{RunID: run, Run: slug, Released: true}); err != nil {
			s.log.Warn("the other workers were not woken: their sweeps will find the lines", "error", err)
			break
		}
	}
	if !within(s.options.ShutdownTimeout, s.closing.Wait) {
		s.log.Warn("Redis did not let all lanes' servers close in time")
	}
}

// within tells whether wait returned in time.
func within(d time.Duration, wait func()) bool {
	returned := make(chan struct{})
	go func() { wait(); close(returned) }()
	select {
	case <-returned:
		return true
	case <-time.After(d):
		return false
	}
}
