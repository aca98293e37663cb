package lane

import (
	"context"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// waitingAge is how old the head of a line is before the sweep takes it up:
	// younger requests have their task on the way.
	waitingAge = time.Second

	// heardFor is how long a run that was heard of is looked at every time.
	heardFor = time.Minute

	// sweepTimeout bounds what one look may cost.
	sweepTimeout = 5 * time.Second
)

// sweep is the net under the queues: it looks for lines whose head has been
// waiting, so that nothing accepted depends on Redis.
func (s *Supervisor) sweep(ctx context.Context) error {
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
			runs := s.heardOf(now)       // every time, or nothing is forgotten while all runs are looked at
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

// heardOf returns the runs that were heard of in the last minute, and forgets the
// others.
func (s *Supervisor) heardOf(now time.Time) []enroll.RunID {
	s.mu.Lock()
	defer s.mu.Unlock()
	runs := make([]enroll.RunID, 0, len(s.heard))
	for run, at := range s.heard {
		if now.Sub(at) > heardFor {
			delete(s.heard, run)
			continue
		}
		runs = append(runs, run)
	}
	for run, at := range s.elsewhere {
		if now.Sub(at) > elsewhereFor {
			delete(s.elsewhere, run)
		}
	}
	return runs
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
func (s *Supervisor) lookAt(ctx context.Context, runs []enroll.RunID) ([]enroll.Behind, bool) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	behind, err := s.ledger.LinesBehind(ctx, runs, waitingAge)
	if err != nil {
		if ctx.Err() == nil {
			s.blind.Failed(err)
		}
		return nil, false
	}
	s.blind.Worked()
	s.found(behind)
	return behind, true
}
