package lane

import (
	"context"
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/gather"
	"github.com/lastseat/lastseat/internal/pubsub"
)

// atOnce bounds how many lanes are started, or ended, with one statement.
const atOnce = 500

// ring asks for a lane.
type ring struct {
	pubsub.Wake
	by string
}

// call is a lane that is to be started.
type call struct {
	run  enroll.RunID
	slug string
	by   string
}

// ring passes on that somebody rang for a run, unless ctx ends before.
func (s *Supervisor) ring(ctx context.Context, r ring) {
	select {
	case s.rung <- r:
	case <-ctx.Done():
	}
}

// answer starts lanes for those who ring until ctx ends. While the locks of some
// are being taken the next gather, since with a thousand runs a statement for each
// would hold all of them up.
func (s *Supervisor) answer(ctx context.Context) error {
	for rings := range gather.Each(ctx, s.rung, atOnce) {
		s.wake(rings)
	}
	return nil
}

// wake starts lanes for the runs that have none anywhere.
func (s *Supervisor) wake(rings []ring) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]call, len(rings))
	for i, r := range rings {
		s.heard[r.RunID] = time.Now()
		if r.Released {
			delete(s.elsewhere, r.RunID)
		}
		calls[i] = call{r.RunID, r.Run, r.by}
	}
	s.start(calls)
}

// found starts lanes for lines that have been waiting, or tells those that are
// alive. In a full house it lets the lane that lives longest make room: its own
// line, if it has work, comes back in its turn.
func (s *Supervisor) found(behind []enroll.Behind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []call
	for _, b := range behind {
		s.heard[b.RunID] = time.Now()
		if l := s.lanes[b.RunID]; l != nil {
			select {
			case l.nudge <- struct{}{}:
			default: // it knows
			}
			continue
		}
		calls = append(calls, call{b.RunID, b.Run, bySweep})
	}
	for _, c := range s.start(calls) {
		s.crowd(c)
	}
}

// crowd has a line wait for the next place, and the lane that lives longest make
// it. The caller holds mu.
func (s *Supervisor) crowd(c call) {
	waits := slices.ContainsFunc(s.crowded, func(other call) bool { return other.run == c.run })
	if waits || !s.claim(c.run)[c.run] { // another worker's lane is at it
		return
	}
	s.giveUp(c.run) // until there is room
	s.crowded = append(s.crowded, c)
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

// start starts the lanes that are called for, unless there is one, or it is known
// to be elsewhere. It returns those for which this worker has no place. The caller
// holds mu.
func (s *Supervisor) start(calls []call) (crowded []call) {
	wanted := make(map[enroll.RunID]bool, len(calls)) // a lock that is taken twice has to be given back twice
	calls = slices.DeleteFunc(calls, func(c call) bool {
		is := s.lanes[c.run] != nil || wanted[c.run]
		wanted[c.run] = true
		return is
	})
	for len(calls) > 0 {
		room := min(s.options.MaxLanes-len(s.lanes), len(calls))
		if room <= 0 {
			s.metrics.refused.Add(float64(len(calls)))
			return calls
		}
		runs := make([]enroll.RunID, room)
		for i, c := range calls[:room] {
			runs[i] = c.run
		}
		mine := s.claim(runs...)
		poll := pollInterval(len(s.lanes)+len(mine), s.options.PollBudget)
		for _, c := range calls[:room] {
			if mine[c.run] {
				s.begin(c, poll)
			}
		}
		calls = calls[room:]
	}
	return nil
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
	s.metrics.lanes.Set(float64(len(s.lanes)))
	s.metrics.started.WithLabelValues(c.by).Inc()
	held := s.held
	s.ending.Add(1)
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
	for lanes := range gather.Each(ctx, s.ended, atOnce) {
		if runs := s.end(lanes); len(runs) > 0 {
			s.ending.Go(func() { s.lookOnceMore(runs) })
		}
		for range lanes {
			s.ending.Done()
		}
	}
	return nil
}

// end gives up lanes: out of the map, locks released, then one more look at the
// lines, of which it returns the runs. In this order no wake-up is lost: one that
// came before the release found the lane in the map or the lock held, and the look
// sees what it rang for; one that comes after it starts a lane. Between the two,
// lines that wait for a place get it.
func (s *Supervisor) end(lanes []*lane) (released []enroll.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lanes {
		if l.retiring {
			s.retiring--
		}
		if s.lanes[l.run] == l { // not when the connection was lost
			delete(s.lanes, l.run)
			released = append(released, l.run)
		}
	}
	if len(released) == 0 {
		return nil
	}
	s.metrics.lanes.Set(float64(len(s.lanes)))
	crashpoint.Here(crashpoint.LaneEnded)
	s.giveUp(released...)
	places := min(len(released), len(s.crowded))
	next := slices.Clone(s.crowded[:places])
	s.crowded = s.crowded[places:]
	s.start(next)
	// Who hears nothing lost no wake-up, and would take the lanes again and again:
	// a worker that does hear may have them, or else the next sweep takes them.
	if s.stopping || s.deaf.Load() {
		return nil
	}
	return released
}

// lookOnceMore starts lanes for those of the lines that have work.
func (s *Supervisor) lookOnceMore(runs []enroll.RunID) {
	crashpoint.Here(crashpoint.LaneReleased)
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	behind, err := s.ledger.LinesBehind(ctx, runs, 0)
	if err != nil {
		s.log.Warn("no last look at lines: the sweep will look", "lines", len(runs), "error", err)
		return
	}
	calls := make([]call, len(behind))
	for i, b := range behind {
		calls[i] = call{b.RunID, b.Run, byWake} // it has its task on the way, …
		if b.Old(waitingAge) {
			calls[i].by = bySweep // … or had
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(calls)
}
