package lane

import (
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// recentFor is how long every sweep looks at a run after the worker last heard
	// of it.
	recentFor = time.Minute

	// stallAfter is how long a line with work may stand still before it is settled
	// without the lock of its lane. By then the locks of a worker that died are
	// free.
	stallAfter = 3 * time.Second
)

// recentRuns are the runs that this worker has heard of in the last minute, and
// how their lines get on. Its mutex is only ever held for a moment, so the
// sweep goes on while the lock connection hangs.
type recentRuns struct {
	mu   sync.Mutex
	runs map[enroll.RunID]*recentRun
}

type recentRun struct {
	heardAt  time.Time
	settled  int64     // the settled ticket when the line was last found waiting
	since    time.Time // when the line was first found waiting at that ticket
	stalled  bool      // the line stood still, and no lane has started here since
	settling bool      // the sweep is settling the line
}

// entry returns what is remembered of the run. The caller holds mu.
func (r *recentRuns) entry(run enroll.RunID) *recentRun {
	if r.runs[run] == nil {
		r.runs[run] = new(recentRun)
	}
	return r.runs[run]
}

// hear notes that this worker has just heard of the run.
func (r *recentRuns) hear(run enroll.RunID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry(run).heardAt = time.Now()
}

// list returns the runs, and forgets those that were last heard of long ago.
func (r *recentRuns) list(now time.Time) []enroll.RunID {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make([]enroll.RunID, 0, len(r.runs))
	for run, recent := range r.runs {
		if now.Sub(recent.heardAt) > recentFor && !recent.settling {
			delete(r.runs, run)
			continue
		}
		runs = append(runs, run)
	}
	return runs
}

// stalled takes the waiting lines that a look found at an instant, and returns
// those to settle without their lanes: each line that has stood still for
// stallAfter, and at every later look each line that once did, until a lane of
// it starts here. A returned line is not returned again before settled was
// called for it. first is how many of the lines have just stalled.
func (r *recentRuns) stalled(waiting []enroll.Backlog, now time.Time) (lines []enroll.Backlog, first int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range waiting {
		recent := r.entry(line.RunID)
		if recent.since.IsZero() || recent.settled != line.Settled {
			recent.settled, recent.since = line.Settled, now
		}
		if !recent.stalled && now.Sub(recent.since) >= stallAfter {
			recent.stalled = true
			first++
		}
		if recent.stalled && !recent.settling {
			recent.settling = true
			lines = append(lines, line)
		}
	}
	return lines, first
}

// settled notes that the sweep has stopped settling the line. After an error
// the line counts as moving, so that it is not tried again at every look.
func (r *recentRuns) settled(run enroll.RunID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recent := r.entry(run)
	recent.settling = false
	if err != nil {
		recent.stalled, recent.since = false, time.Now()
	}
}

// laneStarted notes that a lane of the run has started here.
func (r *recentRuns) laneStarted(run enroll.RunID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recent := r.entry(run)
	recent.stalled, recent.since = false, time.Time{}
}
