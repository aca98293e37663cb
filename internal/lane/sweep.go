package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

const (
	// waitingAge is how old the next request of a line must be for the sweep to
	// take the line up. The task of a younger one is on its way.
	waitingAge = time.Second

	// sweepTimeout bounds one look.
	sweepTimeout = 5 * time.Second
)

// sweeper is the net under the queues. It looks for lines whose first undecided
// request has been waiting, so that nothing that was accepted depends on Redis.
// Nor does it depend on the lock connection: it waits for nothing that may wait
// for that. It must not know how lanes are started.
type sweeper struct {
	ledger  Ledger
	settler *Settler
	redis   redis.UniversalClient
	options Options
	log     *slog.Logger
	metrics *Metrics

	recent     recentRuns
	standing   standingLines
	redisDown  atomic.Bool // Redis did not answer at the last two sweeps
	ledgerDown *outage.Log

	now    chan struct{}         // has room for one: look at all runs now
	found  chan []enroll.Backlog // has room for one: lines that wait for a lane
	stalls sync.WaitGroup        // lines that are being settled without their lanes
}

func newSweeper(ledger Ledger, settler *Settler, c redis.UniversalClient, o Options, log *slog.Logger, m *Metrics) *sweeper {
	return &sweeper{
		ledger: ledger, settler: settler, redis: c, options: o, log: log, metrics: m,
		recent: recentRuns{runs: make(map[enroll.RunID]*recentRun)},
		standing: standingLines{
			lines: make(map[enroll.RunID]*standingLine), ledger: ledger, redis: c, timeout: o.SweepInterval / 2, log: log, metrics: m,
		},
		ledgerDown: outage.New(log, slog.LevelWarn, "the sweep cannot read which lines wait",
			"the sweep can read again which lines wait"),
		now:   make(chan struct{}, 1),
		found: make(chan []enroll.Backlog, 1),
	}
}

// sweepAllNow has the sweeper look at all runs without waiting for its next
// turn.
func (s *sweeper) sweepAllNow() {
	select {
	case s.now <- struct{}{}:
	default:
	}
}

// run looks for lines that wait until ctx ends.
func (s *sweeper) run(ctx context.Context) error {
	defer s.stalls.Wait()
	ticker := time.NewTicker(s.options.SweepInterval)
	defer ticker.Stop()
	var lastAll time.Time
	unanswered := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.now:
			s.sweepAll(ctx)
		case now := <-ticker.C:
			before := unanswered
			unanswered = !s.redisAnswers(ctx)
			s.redisDown.Store(unanswered && before) // a single answer that is late means nothing
			runs := s.recent.list(now)              // every time, or nothing is forgotten while all runs are looked at
			if unanswered || now.Sub(lastAll) >= s.options.SweepAllInterval {
				lastAll = now
				s.sweepAll(ctx)
			} else if len(runs) > 0 {
				s.sweep(ctx, runs)
			}
		}
	}
}

// redisAnswers returns whether messages can be relied on now.
func (s *sweeper) redisAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.options.SweepInterval/2)
	defer cancel()
	return s.redis.Ping(ctx).Err() == nil
}

// sweepAll looks at every run.
func (s *sweeper) sweepAll(ctx context.Context) {
	s.sweep(ctx, nil)
}

// sweep looks for lines that wait among the runs (nil: all). It passes them on
// to be served by lanes, and settles those that have stalled.
func (s *sweeper) sweep(ctx context.Context, runs []enroll.RunID) {
	looking, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	now := time.Now()
	lines, err := s.ledger.Backlogs(looking, runs, waitingAge)
	if err != nil {
		if ctx.Err() == nil {
			s.ledgerDown.Failed(err)
		}
		return
	}
	s.ledgerDown.Recovered()
	oldest := 0.0
	if len(lines) > 0 {
		oldest = max(lines[0].Age.Seconds(), waitingAge.Seconds()) // at least, if the clock was set back
	}
	s.metrics.oldest.Set(oldest) // a line that waits is among the runs of every later look
	for _, line := range lines {
		s.recent.hear(line.RunID)
	}
	stalled, first := s.recent.stalled(lines, now)
	if first > 0 {
		s.log.Warn("lines have stalled: they are settled without the locks of their lanes", "lines", first)
	}
	for _, line := range stalled {
		s.stalls.Go(func() { s.settleStalled(ctx, line) })
	}
	select {
	case s.found <- lines:
	default: // the lines that the last look found are still waiting for lanes
	}
	s.standing.look(ctx, runs, lines, now) // last, because it may ask the servers
}

// settleStalled settles a line to its end without the lock of its lane. The
// lane may be alive, or a worker's session may hold the lock and not answer:
// the lock of the run's row and its settled ticket fence either. A run that is
// being settled elsewhere is left alone until the next look.
func (s *sweeper) settleStalled(ctx context.Context, line enroll.Backlog) {
	for {
		p, err := s.settler.Settle(ctx, line.RunID, byStall)
		if err == nil && p.More {
			continue
		}
		if errors.Is(err, errElsewhere) {
			err = nil
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("a line could not be settled without the lock of its lane: it will be tried again", "run", line.Run, "error", err)
		}
		s.recent.settled(line.RunID, err)
		return
	}
}

// recheck returns requests for lanes for those of the lines that have work now,
// or none if it cannot find out: the next sweep will.
func (s *sweeper) recheck(lines []laneRequest) []laneRequest {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	backlogs, err := s.ledger.Backlogs(ctx, runsOf(lines), 0)
	if err != nil {
		s.log.Warn("the lines of ended lanes could not be looked at: the sweep will find those with work", "lines", len(lines), "error", err)
		return nil
	}
	requests := make([]laneRequest, len(backlogs))
	for i, line := range backlogs {
		requests[i] = laneRequest{runID: line.RunID, slug: line.Run, by: byWake} // its task is on the way
		if line.OlderThan(waitingAge) {
			requests[i].by = bySweep // or was lost
		}
	}
	return requests
}
