package lane

import (
	"context"
	"errors"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// waitingAge is how old the head of a line is before the sweep takes it up:
	// younger requests have their task on the way.
	waitingAge = time.Second

	// sweepTimeout bounds what one look may cost.
	sweepTimeout = 5 * time.Second
)

// sweep is the net under the queues: it looks for lines whose head has been
// waiting, so that nothing accepted depends on Redis. Nor does it depend on the
// lock connection: it takes no mutex that is held while that is waited for.
func (s *Supervisor) sweep(ctx context.Context) error {
	defer s.stalls.Wait()
	ticker := time.NewTicker(s.options.SweepInterval)
	defer ticker.Stop()
	var all time.Time
	away := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.look:
			s.lookAtAll(ctx)
		case now := <-ticker.C:
			before := away
			away = s.redisAway(ctx)
			s.deaf.Store(away && before) // one answer that is late does not make a worker deaf
			runs := s.recent.list(now)   // every time, or nothing is forgotten while all runs are looked at
			if away || now.Sub(all) >= s.options.SweepAllInterval {
				all = now
				s.lookAtAll(ctx)
			} else if len(runs) > 0 {
				s.lookAt(ctx, runs)
			}
		}
	}
}

// redisAway tells whether messages cannot be relied on now.
func (s *Supervisor) redisAway(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.options.SweepInterval/2)
	defer cancel()
	return s.signals.Ping(ctx).Err() != nil
}

// lookAtAll looks at every run.
func (s *Supervisor) lookAtAll(ctx context.Context) {
	if behind, ok := s.lookAt(ctx, nil); ok {
		oldest := 0.0
		if len(behind) > 0 {
			oldest = max(behind[0].Age.Seconds(), waitingAge.Seconds()) // at least, if the clock was set back
		}
		s.metrics.oldest.Set(oldest)
	}
}

// lookAt takes up the lines among the runs (nil: all) that have been waiting.
func (s *Supervisor) lookAt(ctx context.Context, runs []enroll.RunID) ([]enroll.Backlog, bool) {
	looking, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	now := time.Now()
	behind, err := s.ledger.Backlogs(looking, runs, waitingAge)
	if err != nil {
		if ctx.Err() == nil {
			s.blind.Failed(err)
		}
		return nil, false
	}
	s.blind.Recovered()
	for _, b := range behind {
		s.recent.hear(b.RunID)
	}
	stalled, first := s.recent.stalled(behind, now)
	if first > 0 {
		s.log.Warn("lines stand still: they are settled without their lanes' locks", "lines", first)
	}
	for _, b := range stalled {
		s.stalls.Go(func() { s.settleStalled(ctx, b) })
	}
	select {
	case s.found <- behind:
	default: // what the last look found is still being seen to
	}
	return behind, true
}

// settleStalled settles a line to its end without its lane's lock. The lane may be
// alive, or a worker's session may hold the lock and not answer: the lock of the
// run's row and its settled ticket fence either. If somebody else has the row,
// the line is left to them until the next look.
func (s *Supervisor) settleStalled(ctx context.Context, b enroll.Backlog) {
	for {
		p, err := s.settler.Settle(ctx, b.RunID, byStall)
		if err == nil && p.More {
			continue
		}
		if errors.Is(err, errElsewhere) {
			err = nil
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("settling a line without its lane's lock failed: it is tried again", "run", b.Run, "error", err)
		}
		s.recent.settled(b.RunID, err)
		return
	}
}

// takeUp starts lanes for the lines that the sweep finds until ctx ends.
func (s *Supervisor) takeUp(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case behind := <-s.found:
			s.serve(behind)
		}
	}
}
