package lane

import (
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// heardFor is how long a run that was heard of is looked at every time.
	heardFor = time.Minute

	// stallAfter is how long a line that has work may stand still before it is
	// settled without its lane's lock. A dead worker's locks are free by then.
	stallAfter = 3 * time.Second
)

// recentRuns are the runs that this worker has heard of in the last minute, and
// how their lines get on. Its mutex is never held across I/O, so that the sweep
// goes on while the lock connection hangs.
type recentRuns struct {
	mu   sync.Mutex
	runs map[enroll.RunID]*recentRun
}

type recentRun struct {
	heard    time.Time
	settled  int64     // the settled ticket when the line was last found waiting, …
	since    time.Time // … and when it was first found there
	stalled  bool      // the line stood still, and no lane has started here since
	settling bool      // the sweep is settling it
}

// of returns what is remembered of the run. The caller holds mu.
func (r *recentRuns) of(run enroll.RunID) *recentRun {
	if r.runs[run] == nil {
		r.runs[run] = new(recentRun)
	}
	return r.runs[run]
}

// hear notes that the run was heard of now.
func (r *recentRuns) hear(run enroll.RunID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(run).heard = time.Now()
}

// list returns the runs, and forgets those that were last heard of long ago.
func (r *recentRuns) list(now time.Time) []enroll.RunID {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make([]enroll.RunID, 0, len(r.runs))
	for run, known := range r.runs {
		if now.Sub(known.heard) > heardFor && !known.settling {
			delete(r.runs, run)
			continue
		}
		runs = append(runs, run)
	}
	return runs
}

// stalled takes what a look found at an instant. It returns the lines to settle
// without their lanes: those that have stood still for stallAfter, and at every
// later look those that once did, until a lane starts here. Each is returned
// again only after settled was called for it. Of the lines it returns, first are
// those that have just been found to stand still.
func (r *recentRuns) stalled(behind []enroll.Backlog, now time.Time) (lines []enroll.Backlog, first int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range behind {
		known := r.of(b.RunID)
		if known.since.IsZero() || known.settled != b.Settled {
			known.settled, known.since = b.Settled, now
		}
		if !known.stalled && now.Sub(known.since) >= stallAfter {
			known.stalled = true
			first++
		}
		if known.stalled && !known.settling {
			known.settling = true
			lines = append(lines, b)
		}
	}
	return lines, first
}

// settled notes that the sweep no longer settles the line. After an error the line
// counts as moving again, so that it is not tried at every look.
func (r *recentRuns) settled(run enroll.RunID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.of(run)
	known.settling = false
	if err != nil {
		known.stalled, known.since = false, time.Now()
	}
}

// served notes that a lane of the run starts here.
func (r *recentRuns) served(run enroll.RunID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.of(run)
	known.stalled, known.since = false, time.Time{}
}
