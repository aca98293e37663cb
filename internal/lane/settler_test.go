package lane_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/testwait"
)

// heldLedger settles nothing, and the runs in held not before they are let go.
type heldLedger struct {
	lane.Ledger
	held  map[enroll.RunID]chan struct{}
	begun chan []enroll.RunID
	most  atomic.Int32 // transactions at once
	now   atomic.Int32
}

func (h *heldLedger) Settle(ctx context.Context, runs []enroll.RunID, _ enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error) {
	if n := h.now.Add(1); n > h.most.Load() {
		h.most.Store(n)
	}
	defer h.now.Add(-1)
	h.begun <- runs
	progress := make(map[enroll.RunID]enroll.Progress)
	for _, run := range runs {
		if let := h.held[run]; let != nil {
			select {
			case <-let:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		progress[run] = enroll.Progress{First: 1, Last: 0, ChangedFrom: 1}
	}
	return progress, nil
}

// TestTransactions: lanes that are ready are settled together, by the next
// transaction, and by one beside it when that takes long.
func TestTransactions(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	ledger := &heldLedger{held: map[enroll.RunID]chan struct{}{1: let}, begun: make(chan []enroll.RunID, 10)}
	s := lane.NewSettler(ledger, 2, enrolltest.SettleLimits(512), func(pubsub.Settled) {}, quiet, lane.NewMetrics(prometheus.NewRegistry()))
	run(t, s.Run)
	settled := make(chan enroll.RunID, 10)
	settle := func(id enroll.RunID) {
		go func() {
			if _, err := s.Settle(context.Background(), id, "task"); err != nil {
				t.Error(err)
			}
			settled <- id
		}()
	}

	settle(1)
	<-ledger.begun
	settle(2)
	if id := testwait.Receive(t, "another run is settled beside a transaction that takes long", settled); id != 2 {
		t.Fatalf("run %d was settled, although its transaction was held", id)
	}
	close(let)
	if id := <-settled; id != 1 {
		t.Fatalf("run %d was settled twice", id)
	}
	if most := ledger.most.Load(); most != 2 {
		t.Errorf("%d transactions were on their way at once, want 2", most)
	}
}
