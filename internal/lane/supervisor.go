package lane

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

	deaf atomic.Bool // Redis did not answer this worker at the last two sweeps

	ending  sync.WaitGroup // lanes that have not ended
	closing sync.WaitGroup // servers of lanes that have

	// mu also guards the lock connection: whoever starts or ends a lane talks
	// to the database under it, for a fraction of a millisecond.
	mu        sync.Mutex
	locks     Locks // nil while there is no connection
	lanes     map[enroll.RunID]*lane
	lose      context.CancelCauseFunc // cancels all lanes of this connection
	held      context.Context
	elsewhere map[enroll.RunID]time.Time
	heard     map[enroll.RunID]time.Time
	crowded   []enroll.Behind // lines that wait for a place, the first come first
	retiring  int             // lanes that were told to end for them
	stopping  bool

	look chan struct{} // has room for one: look at all runs now
}

// NewSupervisor returns a supervisor that gets its lock connection from connect.
func NewSupervisor(connect func(context.Context) (Locks, error), ledger Ledger, settler *Settler,
	asynqRedis, signals redis.UniversalClient, o Options, log *slog.Logger, m *Metrics) *Supervisor {
	return &Supervisor{
		connect: connect, ledger: ledger, settler: settler, redis: asynqRedis, signals: signals,
		options: o, log: log, metrics: m,
		blind:     outage.New(log, slog.LevelWarn, "the sweep cannot look for lines that wait"),
		lanes:     make(map[enroll.RunID]*lane),
		elsewhere: make(map[enroll.RunID]time.Time),
		heard:     make(map[enroll.RunID]time.Time),
		look:      make(chan struct{}, 1),
	}
}

// Ready returns nil if this worker can own lanes.
func (s *Supervisor) Ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks == nil || s.stopping {
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

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return s.sweep(running) })
	g.Go(func() error { return s.serveLeftovers(running) })
	g.Go(func() error {
		return pubsub.ListenWake(running, s.signals, s.log, func() {}, s.wake)
	})
	err := g.Wait()
	runs := s.endLanes()
	stopKeeping()
	err = errors.Join(err, keeper.Wait())
	crashpoint.Here(crashpoint.LanesLeft)
	s.handOver(context.WithoutCancel(ctx), runs)
	return err
}

// wake starts a lane for the run, if it has none anywhere.
func (s *Supervisor) wake(w pubsub.Wake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[w.RunID] = time.Now()
	if w.Released {
		delete(s.elsewhere, w.RunID)
	}
	s.start(w.RunID, w.Run, false)
}

// found starts a lane for a line that has been waiting, or tells the one that is
// alive. In a full house it lets the lane that lives longest make room: its own
// line, if it has work, comes back in its turn.
func (s *Supervisor) found(b enroll.Behind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[b.RunID] = time.Now()
	if l := s.lanes[b.RunID]; l != nil {
		select {
		case l.nudge <- struct{}{}:
		default: // it knows
		}
		return
	}
	if len(s.lanes) < s.options.MaxLanes {
		s.start(b.RunID, b.Run, true)
		return
	}
	s.metrics.refused.Inc()
	waits := slices.ContainsFunc(s.crowded, func(c enroll.Behind) bool { return c.RunID == b.RunID })
	if waits || !s.claim(b.RunID) { // another worker's lane is at it
		return
	}
	s.giveUp(b.RunID) // until there is room
	s.crowded = append(s.crowded, b)
	if s.retiring < len(s.crowded) {
		s.retireOldest()
	}
}

// retireOldest tells the lane that lives longest, of those not told yet, to end.
// The caller holds mu.
func (s *Supervisor) retireOldest() {
	var oldest *lane
	for _, l := range s.lanes {
		if !l.retiring && (oldest == nil || l.born.Before(oldest.born)) {
			oldest = l
		}
	}
	if oldest != nil {
		s.retiring++
		oldest.retiring = true
		oldest.stop()
	}
}

// start starts a lane unless there is one, it is known to be elsewhere, or this
// worker has no place for it. The caller holds mu.
func (s *Supervisor) start(run enroll.RunID, slug string, first bool) {
	if s.lanes[run] != nil {
		return
	}
	if len(s.lanes) >= s.options.MaxLanes {
		s.metrics.refused.Inc()
		return
	}
	if !s.claim(run) {
		return
	}
	crashpoint.Here(crashpoint.LaneLocked)
	stopped, stop := context.WithCancel(context.Background())
	l := &lane{
		run: run, slug: slug, first: first, born: time.Now(),
		idle: s.options.LaneIdle, poll: pollInterval(len(s.lanes)+1, s.options.PollBudget),
		redis: s.redis, settle: s.settler.Settle, log: s.log, closing: &s.closing,
		stop: stop, stopped: stopped.Done(), nudge: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	s.lanes[run] = l
	s.metrics.lanes.Set(float64(len(s.lanes)))
	if first {
		s.metrics.started.WithLabelValues(bySweep).Inc()
	} else {
		s.metrics.started.WithLabelValues("wake").Inc()
	}
	held := s.held
	s.ending.Go(func() {
		defer stop()
		l.live(held)
		s.end(l)
	})
}

// pollInterval shares the budget of polls per second among the lanes.
func pollInterval(lanes, budget int) time.Duration {
	return min(max(time.Duration(lanes)*time.Second/time.Duration(budget), minPoll), maxPoll)
}

// end gives up the lane of a run: out of the map, lock released, then one more
// look at the line. In this order no wake-up is lost: one that came before the
// release found the lane in the map or the lock held, and the look sees what it
// rang for; one that comes after it starts a lane. Between the two, a line that
// waits for a place gets it.
func (s *Supervisor) end(l *lane) {
	s.mu.Lock()
	if l.retiring {
		s.retiring--
	}
	owned := s.locks != nil && s.lanes[l.run] == l // not when the connection was lost
	if owned {
		delete(s.lanes, l.run)
		s.metrics.lanes.Set(float64(len(s.lanes)))
		crashpoint.Here(crashpoint.LaneEnded)
		s.giveUp(l.run)
		if len(s.crowded) > 0 {
			next := s.crowded[0]
			s.crowded = s.crowded[1:]
			s.start(next.RunID, next.Run, true)
		}
	}
	stopping := s.stopping
	s.mu.Unlock()
	// Who hears nothing lost no wake-up, and would take the lane again and again:
	// a worker that does hear may have it, or else the next sweep takes it.
	if !owned || stopping || s.deaf.Load() {
		return
	}
	crashpoint.Here(crashpoint.LaneReleased)
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	behind, err := s.ledger.LinesBehind(ctx, []enroll.RunID{l.run}, 0)
	if err != nil {
		s.log.Warn("no last look at a line: the sweep will look", "run", l.slug, "error", err)
		return
	}
	for _, b := range behind {
		s.mu.Lock()
		s.start(b.RunID, b.Run, b.Old(waitingAge)) // a younger one has its task on the way
		s.mu.Unlock()
	}
}

// endLanes tells all lanes to end, waits for them, and returns their runs.
func (s *Supervisor) endLanes() map[enroll.RunID]string {
	runs := make(map[enroll.RunID]string)
	s.mu.Lock()
	s.stopping = true
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
