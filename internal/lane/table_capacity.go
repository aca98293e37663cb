package lane

import (
	"slices"

	"github.com/lastseat/lastseat/internal/enroll"
)

// notWaiting returns the requests whose lines do not wait for capacity yet. It
// reuses the slice.
func (t *laneTable) notWaiting(requests []laneRequest) []laneRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	waits := make(map[enroll.RunID]bool, len(t.waitingForCapacity))
	for _, r := range t.waitingForCapacity {
		waits[r.runID] = true
	}
	return slices.DeleteFunc(requests, func(r laneRequest) bool { return waits[r.runID] })
}

// wait lets more lines wait for capacity, and tells lanes to end until as many
// are retiring as lines wait. The lines of the retired lanes come back in their
// turn, if they have work.
func (t *laneTable) wait(session *lockSession, requests []laneRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != session {
		return
	}
	t.waitingForCapacity = append(t.waitingForCapacity, requests...)
	for t.retiring < len(t.waitingForCapacity) && t.retireOldest() {
	}
}

// retireOldest tells the oldest lane that is not retiring to end, and returns
// whether there is one. The caller holds mu.
func (t *laneTable) retireOldest() bool {
	var oldest *lane
	for _, l := range t.lanes {
		if !l.retiring && (oldest == nil || l.startedAt.Before(oldest.startedAt)) {
			oldest = l
		}
	}
	if oldest == nil {
		return false
	}
	t.retiring++
	oldest.retiring = true
	oldest.stop()
	return true
}

// next takes the first lines that wait for capacity, n at the most.
func (t *laneTable) next(n int) []laneRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	n = min(n, len(t.waitingForCapacity))
	next := slices.Clone(t.waitingForCapacity[:n])
	t.waitingForCapacity = t.waitingForCapacity[n:]
	return next
}
