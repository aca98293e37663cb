package watch

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Settled says that the tickets first to last of a run are decided, or have
// become something else.
func (w *Watch) Settled(run enroll.RunID, first, last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastHeard[run] = time.Now()
	for c := range w.clients[run] {
		if first <= c.ticket && c.ticket <= last {
			w.markOutdated(c)
		}
	}
}

// RefreshAll reads every registration that a client waits for: messages may
// have been lost.
func (w *Watch) RefreshAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, clients := range w.clients {
		for c := range clients {
			w.markOutdated(c)
		}
	}
	for run, at := range w.lastHeard {
		if time.Since(at) > 2*readTimeout { // no read takes that long
			delete(w.lastHeard, run)
		}
	}
}

// markOutdated has the client's registration read soon. The caller holds mu.
func (w *Watch) markOutdated(c *client) {
	w.outdated[c] = struct{}{}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// refresh keeps the clients up to date until ctx ends.
func (w *Watch) refresh(ctx context.Context) {
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.RefreshAll()
		case <-w.wake:
			w.refreshOutdated()
		}
	}
}

// refreshOutdated reads the registrations of the outdated clients, and hands
// the results to them.
func (w *Watch) refreshOutdated() {
	clients, ids := w.takeOutdated()
	for len(ids) > 0 {
		n := min(len(ids), maxBatch)
		found, err := w.lookup(ids[:n])
		if err != nil {
			w.log.Warn("registrations that clients wait for could not be read: they are read again soon", "error", err)
			return
		}
		for _, c := range clients[:n] {
			if result, ok := found[c.id]; ok {
				c.update(result)
			}
		}
		ids, clients = ids[n:], clients[n:]
	}
}

// takeOutdated returns the outdated clients with the ids of their
// registrations. They do not count as outdated any more.
func (w *Watch) takeOutdated() (clients []*client, ids []uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clients, ids = make([]*client, 0, len(w.outdated)), make([]uuid.UUID, 0, len(w.outdated))
	for c := range w.outdated {
		clients = append(clients, c)
		ids = append(ids, c.id)
	}
	clear(w.outdated)
	return clients, ids
}

// update replaces a result that the client has not taken yet. Only
// refreshOutdated calls it.
func (c *client) update(latest readResult) {
	select {
	case <-c.latest:
	default:
	}
	c.latest <- latest
}
