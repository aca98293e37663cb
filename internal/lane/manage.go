package lane

import (
	"context"
	"time"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// maxBatch is the most requests, or ended lanes, that are dealt with together.
	maxBatch = 500

	// A lane's server polls its queue at most once in minPoll, and at least once
	// in maxPoll however many lanes share the budget.
	minPoll = 20 * time.Millisecond
	maxPoll = time.Second
)

// manageLanes starts and ends lanes until ctx ends.
//
// Only this goroutine takes and releases locks, and only it adds lanes to the
// table and removes them. So while it waits for the database, only two things
// can change: the lock session is lost, or the worker is told to stop. The
// table knows both. Meanwhile the next requests collect, to be dealt with
// together: with a thousand runs, a statement for each would delay all of them.
func (s *Supervisor) manageLanes(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-s.requests:
			s.answer(batch.Fill(r, s.requests, maxBatch))
		case lines := <-s.sweeper.found:
			s.serveWaiting(lines)
		case requests := <-s.rechecked:
			if !s.table.handOver(requests) {
				s.start(requests)
			}
		case l := <-s.ended:
			s.reapEnded(batch.Fill(l, s.ended, maxBatch))
		}
	}
}

// answer starts lanes for the runs that have none anywhere.
func (s *Supervisor) answer(requests []laneRequest) {
	s.table.forgetElsewhere(requests)
	s.start(requests)
}

// serveWaiting nudges the lanes of lines that have been waiting, and starts
// lanes for the others. If this worker has no capacity for some of them, they
// wait for it.
func (s *Supervisor) serveWaiting(lines []enroll.Backlog) {
	s.table.expireElsewhere()
	tooMany := s.start(s.table.nudge(lines))
	if len(tooMany) == 0 {
		return
	}
	// Which of them have no lane anywhere? Their locks are free until there is
	// capacity.
	session, mine := s.acquire(s.table.notWaiting(tooMany))
	if session != nil && session.release(runsOf(mine)) == nil {
		s.table.wait(session, mine)
	}
}

// start starts lanes for those requests whose runs have none here and are not
// known to have one elsewhere. It returns those for which this worker has no
// capacity. It asks the database twice at the most, and reuses the slice.
func (s *Supervisor) start(requests []laneRequest) (tooMany []laneRequest) {
	requests, lanes := s.table.missing(requests)
	capacity := max(s.options.MaxLanes-lanes, 0)
	if capacity == 0 {
		s.metrics.refused.Add(float64(len(requests)))
		return requests
	}
	session, mine := s.acquire(requests)
	if len(mine) > capacity {
		mine, tooMany = mine[:capacity], mine[capacity:]
		s.metrics.refused.Add(float64(len(tooMany)))
		if session.release(runsOf(tooMany)) != nil {
			return nil
		}
	}
	if len(mine) > 0 {
		s.begin(session, mine, pollInterval(lanes+len(mine), s.options.PollBudget))
	}
	return tooMany
}

// acquire takes the locks of those runs that are not known to have their lanes
// elsewhere. It returns the requests whose locks it got, and the session that
// holds them: nil if this worker cannot own lanes now.
func (s *Supervisor) acquire(requests []laneRequest) (session *lockSession, mine []laneRequest) {
	session, lockable := s.table.lockable(requests)
	if len(lockable) == 0 {
		return session, nil
	}
	got, err := session.acquire(runsOf(lockable))
	if err != nil {
		return nil, nil
	}
	locked := make(map[enroll.RunID]bool, len(got))
	for _, run := range got {
		locked[run] = true
	}
	var elsewhere []enroll.RunID
	for _, r := range lockable {
		if locked[r.runID] {
			mine = append(mine, r)
		} else {
			elsewhere = append(elsewhere, r.runID)
		}
	}
	s.table.setElsewhere(session, elsewhere)
	return session, mine
}

// begin starts lanes whose locks were taken.
func (s *Supervisor) begin(session *lockSession, requests []laneRequest, poll time.Duration) {
	crashpoint.Here(crashpoint.LaneLocked)
	lanes := make([]*lane, len(requests))
	for i, r := range requests {
		lanes[i] = s.newLane(session, r, poll)
	}
	if !s.table.add(session, lanes) {
		for _, l := range lanes {
			l.cancel()
		}
		_ = session.release(runsOf(requests)) // an error loses the session, and the locks with it
		return
	}
	for _, l := range lanes {
		s.sweeper.recent.laneStarted(l.runID)
		s.metrics.started.WithLabelValues(l.startedBy).Inc()
		go func() {
			defer l.cancel()
			l.run()
			s.ended <- l
		}()
	}
}

// newLane returns a lane of a run whose lock the session holds.
func (s *Supervisor) newLane(session *lockSession, r laneRequest, poll time.Duration) *lane {
	l := &lane{
		runID: r.runID, slug: r.slug, startedBy: r.by, startedAt: time.Now(),
		idle: s.options.LaneIdle, poll: poll,
		redis: s.redis, settle: s.settler.Settle, log: s.log, servers: &s.servers,
		nudge: make(chan struct{}, 1), serverClosed: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(session.ctx)
	stopping, stop := context.WithCancel(l.ctx)
	l.stopped, l.stop = stopping.Done(), stop
	return l
}

// pollInterval shares the budget of polls per second among the lanes.
func pollInterval(lanes, budget int) time.Duration {
	return min(max(time.Duration(lanes)*time.Second/time.Duration(budget), minPoll), maxPoll)
}

// reapEnded gives up lanes that have ended: it takes them out of the table,
// releases their locks, and has their lines looked at once more. In this order
// no wake-up is lost. A wake-up before the release found the lane in the table,
// or the lock held; the requests that it was about are found by the look. A
// wake-up after the release starts a lane, here or in another worker.
//
// Between the release and the look, lines that wait for capacity get it.
func (s *Supervisor) reapEnded(lanes []*lane) {
	session, left := s.table.remove(lanes)
	if len(left) > 0 {
		crashpoint.Here(crashpoint.LaneEnded)
		_ = session.release(runsOf(left)) // an error loses the session, and the locks with it
		s.start(s.table.next(len(left)))
		s.recheckLines(left)
	}
	for range lanes {
		s.table.unfinished.Done()
	}
}

// recheckLines looks at the lines of lanes that have ended once more, in the
// background, and starts lanes for those that have work.
func (s *Supervisor) recheckLines(lines []laneRequest) {
	if s.table.handOver(lines) {
		return
	}
	// Without Redis this worker hears no wake-ups, so none can be lost, and it would
	// take these lanes again and again. A worker with Redis may have them, or else
	// the next sweep takes them.
	if s.sweeper.redisDown.Load() {
		return
	}
	s.table.unfinished.Go(func() {
		crashpoint.Here(crashpoint.LaneReleased)
		if requests := s.sweeper.recheck(lines); len(requests) > 0 {
			s.rechecked <- requests
		}
	})
}

func runsOf(requests []laneRequest) []enroll.RunID {
	runs := make([]enroll.RunID, len(requests))
	for i, r := range requests {
		runs[i] = r.runID
	}
	return runs
}
