package lane

import (
	"slices"
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// laneRequest asks for a lane of a run.
type laneRequest struct {
	runID    enroll.RunID
	slug     string
	by       string // why: byWake, bySweep or byLeftover
	released bool   // another worker has just given the lane up
}

// laneTable knows which lanes live in this worker, which lines wait for
// capacity, which runs have their lanes elsewhere, and which are to be handed
// over when the worker stops. It does no I/O, so its mutex is only ever held
// for a moment, and health checks may ask it.
//
// All lanes in it belong to one lock session. While the database is asked for
// locks, that session may be lost or the worker told to stop. Then the table
// refuses the lanes.
type laneTable struct {
	metrics *Metrics

	// unfinished counts the lanes that were added and not reaped yet, and the last
	// looks at the lines of lanes.
	unfinished sync.WaitGroup

	mu                 sync.Mutex
	session            *lockSession // nil while there is no lock connection
	lanes              map[enroll.RunID]*lane
	elsewhere          map[enroll.RunID]time.Time // when another session had the lock
	waitingForCapacity []laneRequest              // in the order in which they came
	retiring           int                        // lanes that were told to end for them
	stopping           bool
	handovers          map[enroll.RunID]string // runs whose lanes other workers should take, with their slugs
}

func newLaneTable(m *Metrics) *laneTable {
	return &laneTable{
		metrics:   m,
		lanes:     make(map[enroll.RunID]*lane),
		elsewhere: make(map[enroll.RunID]time.Time),
		handovers: make(map[enroll.RunID]string),
	}
}

// open makes the session the owner of all lanes that are added from now on.
func (t *laneTable) open(session *lockSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = session
	clear(t.elsewhere) // the other session may have been this worker's own last one
}

// drop forgets the lanes of a session that is lost, and returns how many there
// were. The end of the session has cancelled them.
func (t *laneTable) drop(session *lockSession) (lanes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != session {
		return 0
	}
	lanes = len(t.lanes)
	t.session = nil
	clear(t.lanes)
	t.waitingForCapacity, t.retiring = nil, 0
	t.metrics.lanes.Set(0)
	return lanes
}

// ready returns nil if this worker can own lanes, or an error of code
// Unavailable.
func (t *laneTable) ready() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.stopping:
		return enroll.Errorf(enroll.Unavailable, "the worker is stopping")
	case t.session == nil:
		return enroll.Errorf(enroll.Unavailable, "there is no lane lock connection")
	}
	return nil
}

// missing returns the requests for lanes that do not live here, one for each
// run, and how many lanes there are. It reuses the slice.
func (t *laneTable) missing(requests []laneRequest) (missing []laneRequest, lanes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := make(map[enroll.RunID]bool, len(requests)) // a lock that is taken twice must be released twice
	missing = slices.DeleteFunc(requests, func(r laneRequest) bool {
		known := t.lanes[r.runID] != nil || seen[r.runID]
		seen[r.runID] = true
		return known
	})
	return missing, len(t.lanes)
}

// add adds lanes whose locks the session has taken. If that session was lost
// meanwhile, or the worker told to stop, it adds none and returns false; lanes
// that come too late because the worker is stopping are handed over.
func (t *laneTable) add(session *lockSession, lanes []*lane) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping {
		for _, l := range lanes {
			t.handovers[l.runID] = l.slug
		}
	}
	if t.stopping || t.session != session {
		return false
	}
	for _, l := range lanes {
		t.lanes[l.runID] = l
	}
	t.unfinished.Add(len(lanes)) // while mu is held: stop comes after it, and then the wait for them
	t.metrics.lanes.Set(float64(len(t.lanes)))
	return true
}

// remove takes lanes out that have ended. It returns requests for the runs of
// those that were in the table, and the session that holds their locks. The
// others belonged to a session that is lost.
func (t *laneTable) remove(lanes []*lane) (session *lockSession, removed []laneRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range lanes {
		if t.lanes[l.runID] != l {
			continue
		}
		delete(t.lanes, l.runID)
		if l.retiring {
			t.retiring--
		}
		removed = append(removed, laneRequest{runID: l.runID, slug: l.slug})
	}
	t.metrics.lanes.Set(float64(len(t.lanes)))
	return t.session, removed
}

// nudge tells the lanes of these lines that they wait, and returns requests for
// the lines that have no lane here.
func (t *laneTable) nudge(lines []enroll.Backlog) (missing []laneRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, line := range lines {
		l := t.lanes[line.RunID]
		if l == nil {
			missing = append(missing, laneRequest{runID: line.RunID, slug: line.Run, by: bySweep})
			continue
		}
		select {
		case l.nudge <- struct{}{}:
		default: // it was told already
		}
	}
	return missing
}

// slugs returns the runs that have a lane here.
func (t *laneTable) slugs() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	slugs := make(map[string]bool, len(t.lanes))
	for _, l := range t.lanes {
		slugs[l.slug] = true
	}
	return slugs
}
