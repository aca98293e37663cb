package lane

import (
	"maps"

	"github.com/lastseat/lastseat/internal/enroll"
)

// stop tells all lanes to end, and refuses new ones from now on. The lanes are
// handed over.
func (t *laneTable) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopping = true
	for run, l := range t.lanes {
		t.handovers[run] = l.slug
		l.stop()
	}
}

// cancel cancels what the lanes are settling.
func (t *laneTable) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lanes {
		l.cancel()
	}
}

// handOver returns whether the worker is stopping. If it is, lines that this
// worker found to have work are left to the other workers.
func (t *laneTable) handOver(requests []laneRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopping {
		for _, r := range requests {
			t.handovers[r.runID] = r.slug
		}
	}
	return t.stopping
}

// handedOver returns the runs whose lanes other workers should take, with their
// slugs.
func (t *laneTable) handedOver() map[enroll.RunID]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.handovers)
}
