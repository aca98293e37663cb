package lane

import (
	"maps"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// elsewhereFor is how long a lane is remembered as another worker's.
const elsewhereFor = time.Second

// lockable returns the session, or nil if this worker cannot own lanes now, and
// the requests for lanes that are not known to be elsewhere.
func (t *laneTable) lockable(requests []laneRequest) (session *lockSession, lockable []laneRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping || t.session == nil {
		return nil, nil
	}
	for _, r := range requests {
		if time.Since(t.elsewhere[r.runID]) >= elsewhereFor {
			lockable = append(lockable, r)
		}
	}
	return t.session, lockable
}

// setElsewhere remembers the runs whose locks the session did not get.
func (t *laneTable) setElsewhere(session *lockSession, runs []enroll.RunID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != session {
		return // see open
	}
	for _, run := range runs {
		t.elsewhere[run] = time.Now()
	}
}

// forgetElsewhere forgets that lanes were elsewhere which other workers have
// just given up.
func (t *laneTable) forgetElsewhere(requests []laneRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range requests {
		if r.released {
			delete(t.elsewhere, r.runID)
		}
	}
}

// expireElsewhere frees the memory of what is remembered no longer.
func (t *laneTable) expireElsewhere() {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.elsewhere, func(_ enroll.RunID, at time.Time) bool { return time.Since(at) >= elsewhereFor })
}
