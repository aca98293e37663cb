package lane

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
)

// atOnce bounds how many rings, and how many lanes that end, are seen to together.
const atOnce = 500

// call is a wish for a lane.
type call struct {
	run      enroll.RunID
	slug     string
	by       string // byWake, bySweep or byLeftover
	released bool   // another worker gave the lane up, whatever is remembered here
}

// ring passes on that somebody rang for a run, unless ctx ends before.
func (s *Supervisor) ring(ctx context.Context, c call) {
	select {
	case s.rung <- c:
	case <-ctx.Done():
	}
}

// answer starts lanes for those who ring until ctx ends. While the locks of some
// are being taken the next gather, since with a thousand runs a statement for each
// would hold all of them up.
func (s *Supervisor) answer(ctx context.Context) error {
	for calls := range batch.Each(ctx, s.rung, atOnce) {
		s.wake(calls)
	}
	return nil
}

// wake starts lanes for the runs that have none anywhere.
func (s *Supervisor) wake(calls []call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		s.recent.hear(c.run)
		if c.released {
			delete(s.elsewhere, c.run)
		}
	}
	s.start(calls)
}

// serve starts lanes for lines that have been waiting, or tells those that are
// alive. In a full house it lets the lanes that live longest make room: their own
// lines, if they have work, come back in their turn.
func (s *Supervisor) serve(behind []enroll.Backlog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.elsewhere, func(_ enroll.RunID, at time.Time) bool { return time.Since(at) > elsewhereFor })
	var calls []call
	for _, b := range behind {
		if l := s.lanes[b.RunID]; l != nil {
			select {
			case l.nudge <- struct{}{}:
			default: // it knows
			}
			continue
		}
		calls = append(calls, call{run: b.RunID, slug: b.Run, by: bySweep})
	}
	if crowded := s.start(calls); len(crowded) > 0 {
		s.crowd(crowded)
	}
}

// crowd has lines wait for the next places, and the lanes that live longest make
// them. The caller holds mu.
func (s *Supervisor) crowd(calls []call) {
	waits := make(map[enroll.RunID]bool, len(s.crowded))
	for _, c := range s.crowded {
		waits[c.run] = true
	}
	calls = slices.DeleteFunc(calls, func(c call) bool { return waits[c.run] })
	mine := s.claim(calls) // the others have another worker's lane
	s.giveUp(mine)         // until there is room
	if s.locks == nil {
		return
	}
	s.crowded = append(s.crowded, mine...)
	for s.retiring < len(s.crowded) && s.retireOldest() {
	}
}

// retireOldest tells the lane that lives longest, of those not told yet, to end,
// and returns whether there is one. The caller holds mu.
func (s *Supervisor) retireOldest() bool {
	var oldest *lane
	for _, l := range s.lanes {
		if !l.retiring && (oldest == nil || l.born.Before(oldest.born)) {
			oldest = l
		}
	}
	if oldest == nil {
		return false
	}
	s.retiring++
	oldest.retiring = true
	oldest.stop()
	return true
}

// start starts the lanes that are called for, unless there is one, or it is known
// to be elsewhere. It returns those for which this worker has no place. It talks to
// the database twice at most, and changes the slice. The caller holds mu.
func (s *Supervisor) start(calls []call) (crowded []call) {
	seen := make(map[enroll.RunID]bool, len(calls)) // a lock that is taken twice has to be given back twice
	calls = slices.DeleteFunc(calls, func(c call) bool {
		known := s.lanes[c.run] != nil || seen[c.run]
		seen[c.run] = true
		return known
	})
	room := max(s.options.MaxLanes-len(s.lanes), 0)
	if room == 0 {
		s.metrics.refused.Add(float64(len(calls)))
		return calls
	}
	mine := s.claim(calls)
	if len(mine) > room {
		mine, crowded = mine[:room], mine[room:]
		s.metrics.refused.Add(float64(len(crowded)))
		if s.giveUp(crowded); s.locks == nil {
			return nil
		}
	}
	poll := pollInterval(len(s.lanes)+len(mine), s.options.PollBudget)
	for _, c := range mine {
		s.begin(c, poll)
	}
	return crowded
}

// begin starts a lane whose lock was taken. The caller holds mu.
func (s *Supervisor) begin(c call, poll time.Duration) {
	crashpoint.Here(crashpoint.LaneLocked)
	stopped, stop := context.WithCancel(context.Background())
	l := &lane{
		run: c.run, slug: c.slug, by: c.by, born: time.Now(), idle: s.options.LaneIdle, poll: poll,
		redis: s.redis, settle: s.settler.Settle, log: s.log, closing: &s.closing,
		stop: stop, stopped: stopped.Done(), nudge: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	s.lanes[c.run] = l
	s.recent.served(c.run)
	s.metrics.lanes.Set(float64(len(s.lanes)))
	s.metrics.started.WithLabelValues(c.by).Inc()
	held := s.held
	s.ending.Add(1) // until takeLeave
	go func() {
		defer stop()
		l.live(held)
		s.ended <- l
	}()
}

// pollInterval shares the budget of polls per second among the lanes.
func pollInterval(lanes, budget int) time.Duration {
	return min(max(time.Duration(lanes)*time.Second/time.Duration(budget), minPoll), maxPoll)
}

// takeLeave gives up the lanes that have ended, until ctx ends.
func (s *Supervisor) takeLeave(ctx context.Context) error {
	for lanes := range batch.Each(ctx, s.ended, atOnce) {
		if left := s.end(lanes); len(left) > 0 {
			s.ending.Go(func() { s.lookOnceMore(left) })
		}
		for range lanes {
			s.ending.Done()
		}
	}
	return nil
}

// end gives up lanes: out of the map, locks released, then one more look at the
// lines that it returns. In this order no wake-up is lost: one that came before the
// release found the lane in the map or the lock held, and the look sees what it
// rang for; one that comes after it starts a lane. Between the two, lines that wait
// for a place get it.
func (s *Supervisor) end(lanes []*lane) (left []call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lanes {
		if l.retiring {
			s.retiring--
		}
		if s.lanes[l.run] == l { // not when the connection was lost
			delete(s.lanes, l.run)
			left = append(left, call{run: l.run, slug: l.slug})
		}
	}
	if len(left) == 0 {
		return nil
	}
	s.metrics.lanes.Set(float64(len(s.lanes)))
	crashpoint.Here(crashpoint.LaneEnded)
	s.giveUp(left)
	places := min(len(left), len(s.crowded))
	next := slices.Clone(s.crowded[:places])
	s.crowded = s.crowded[places:]
	s.start(next)
	// Who hears nothing lost no wake-up, and would take the lanes again and again:
	// a worker that does hear may have them, or else the next sweep takes them.
	if s.stopping || s.deaf.Load() {
		return nil
	}
	return left
}

// lookOnceMore starts lanes for those of the lines that have work.
func (s *Supervisor) lookOnceMore(left []call) {
	crashpoint.Here(crashpoint.LaneReleased)
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	behind, err := s.ledger.Backlogs(ctx, runsOf(left), 0)
	if err != nil {
		s.log.Warn("no last look at lines: the sweep will look", "lines", len(left), "error", err)
		return
	}
	calls := make([]call, len(behind))
	for i, b := range behind {
		calls[i] = call{run: b.RunID, slug: b.Run, by: byWake} // it has its task on the way, …
		if b.OlderThan(waitingAge) {
			calls[i].by = bySweep // … or had
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(calls)
}

func runsOf(calls []call) []enroll.RunID {
	runs := make([]enroll.RunID, len(calls))
	for i, c := range calls {
		runs[i] = c.run
	}
	return runs
}
