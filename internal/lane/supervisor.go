package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/pubsub"
)

// Options bound a supervisor.
type Options struct {
	MaxLanes         int
	LaneIdle         time.Duration // a lane without work ends after this time
	PollBudget       int           // polls of queues per second, over all lanes
	SweepInterval    time.Duration // between looks at the runs heard of lately
	SweepAllInterval time.Duration // between looks at all runs
	ShutdownTimeout  time.Duration // for lanes to finish what they settle
}

// Supervisor runs the lanes of one worker. It wires three parts that know
// nothing of each other: the keeper of the lock connection, the table of the
// lanes, and the sweeper. It starts and ends lanes itself, in one goroutine:
// see manageLanes.
type Supervisor struct {
	settler *Settler
	redis   redis.UniversalClient // for Asynq
	signals redis.UniversalClient // for messages
	options Options
	log     *slog.Logger
	metrics *Metrics

	keeper  *lockKeeper
	table   *laneTable
	sweeper *sweeper

	requests  chan laneRequest   // for lanes, by wake-ups and leftover tasks
	rechecked chan []laneRequest // for lanes that have just ended
	ended     chan *lane         // lanes that no longer settle anything

	servers sync.WaitGroup // Asynq servers that are being closed
}

// NewSupervisor returns a supervisor that gets its lock connection from
// connect. Its lanes and its sweep settle through settler. Lanes read their
// queues with asynqRedis; messages are published and heard with signals.
func NewSupervisor(connect func(context.Context) (Locks, error), ledger Ledger, settler *Settler,
	asynqRedis, signals redis.UniversalClient, o Options, log *slog.Logger, m *Metrics) *Supervisor {
	s := &Supervisor{
		settler: settler, redis: asynqRedis, signals: signals, options: o, log: log, metrics: m,
		table:     newLaneTable(m),
		requests:  make(chan laneRequest, maxBatch),
		rechecked: make(chan []laneRequest),
		ended:     make(chan *lane),
	}
	s.keeper = newLockKeeper(connect, s.connected, s.disconnected, log)
	s.sweeper = newSweeper(ledger, settler, signals, o, log, m)
	return s
}

// connected is called for every new lock connection.
func (s *Supervisor) connected(session *lockSession) {
	s.table.open(session)
	s.log.Info("ready: this worker has a lane lock connection")
	s.sweeper.sweepAllNow() // for the lines that have waited for a worker
}

// disconnected is called when a lock connection is lost. Its end has cancelled
// the lanes.
func (s *Supervisor) disconnected(session *lockSession, err error) {
	lanes := s.table.drop(session)
	s.log.Error("the lane lock connection is lost, and all lanes of this worker with it", "lanes", lanes, "error", err)
	s.metrics.lost.Inc()
}

// Ready returns nil if this worker can own lanes. The error has the code
// Unavailable, or is the context's. It never waits for the database.
func (s *Supervisor) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.table.ready()
}

// Run serves lanes until ctx ends. Then every lane finishes the transaction it
// is in, the locks are released and the other workers are woken. The settler
// must run until Run has returned.
func (s *Supervisor) Run(ctx context.Context) error {
	// The locks are held until the last lane has ended.
	managing, stopManaging := context.WithCancel(context.WithoutCancel(ctx))
	var managers errgroup.Group
	managers.Go(func() error { return s.keeper.run(managing) })
	managers.Go(func() error { return s.manageLanes(managing) })

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return s.sweeper.run(running) })
	g.Go(func() error { return s.sweeper.serveLeftovers(running, s.table.slugs, s.request) })
	g.Go(func() error {
		return pubsub.ListenWake(running, s.signals, s.log, func() {}, func(w pubsub.Wake) {
			s.request(running, laneRequest{runID: w.RunID, slug: w.Run, by: byWake, released: w.Released})
		})
	})
	err := g.Wait()
	s.endLanes()
	stopManaging()
	err = errors.Join(err, managers.Wait())
	crashpoint.Here(crashpoint.LanesLeft)
	s.handOver(context.WithoutCancel(ctx))
	return err
}

// request passes a request for a lane on, unless ctx ends first.
func (s *Supervisor) request(ctx context.Context, r laneRequest) {
	s.sweeper.recent.hear(r.runID) // now: while the lock connection hangs nobody takes requests
	select {
	case s.requests <- r:
	case <-ctx.Done():
	}
}

// endLanes tells all lanes to end and waits for them.
func (s *Supervisor) endLanes() {
	s.table.stop()
	if !within(s.options.ShutdownTimeout, s.table.unfinished.Wait) {
		s.log.Warn("lanes did not finish in time: what they are settling may still be committed")
		s.table.cancel()
		s.table.unfinished.Wait()
	}
}

// handOver tells the other workers that lanes are free, whatever they remember,
// and waits for the servers to acknowledge what was handled. If Redis hangs,
// those tasks come again later and find nothing to do.
func (s *Supervisor) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ShutdownTimeout)
	defer cancel()
	for run, slug := range s.table.handedOver() {
		if _, err := pubsub.PublishWake(ctx, s.signals, pubsub.Wake{RunID: run, Run: slug, Released: true}); err != nil {
			s.log.Warn("the other workers could not be woken: their sweeps will find the lines", "error", err)
			break
		}
	}
	if !within(s.options.ShutdownTimeout, s.servers.Wait) {
		s.log.Warn("the queues of some lanes could not be closed in time: Redis does not answer")
	}
}

// within returns whether wait returned in time.
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
