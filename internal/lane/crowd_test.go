package lane_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// countedLocks are lane locks whose statements are counted.
type countedLocks struct {
	lane.Locks
	statements *atomic.Int64
}

func (c countedLocks) TryLock(ctx context.Context, runs ...enroll.RunID) ([]enroll.RunID, error) {
	c.statements.Add(1)
	return c.Locks.TryLock(ctx, runs...)
}

func (c countedLocks) Unlock(ctx context.Context, runs ...enroll.RunID) error {
	c.statements.Add(1)
	return c.Locks.Unlock(ctx, runs...)
}

// TestManyLinesWaitForAPlace: a sweep that finds hundreds of them does not keep the
// worker from everything else for a statement each.
func TestManyLinesWaitForAPlace(t *testing.T) {
	t.Parallel()
	const lines, enough = 500, 10
	p := newPlace(t)
	enrolltest.OpenRun(t, p.store, "run-0", nil)
	// Together: looking up the zone of one takes 30 ms, and of the next nothing.
	pgtest.Exec(t, p.url, `
		INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at)
		SELECT course_id, 'run-' || n, time_zone, starts_at, ends_at, opens_at, closes_at FROM runs, generate_series(1, $1::integer - 1) n`, lines)
	for i := range lines {
		p.accept(fmt.Sprintf("run-%d", i), 1)
	}
	pgtest.Exec(t, p.url, `UPDATE requests SET accepted_at = accepted_at - interval '1 minute'`)
	var statements atomic.Int64
	p.locks = func(ctx context.Context) (lane.Locks, error) {
		locks, err := postgres.ConnectLaneLocks(ctx, p.url, pgtest.Options, lane.IdleLocks)
		return countedLocks{locks, &statements}, err
	}
	w := p.worker(p.store, func(o *lane.Options) { o.MaxLanes = 1; o.LaneIdle = 50 * time.Millisecond })
	testwait.Until(t, "enough requests are settled by the sweep", func() bool { return w.settled("sweep") >= enough })
	// Each that got a place took two, and each sweep four.
	if n := statements.Load(); n > lines {
		t.Errorf("%d statements about locks for %d lanes", n, enough)
	}
}

// TestALineWaitsBesideLanesThatStay: two lines wait for a place, there is one lane
// to make one, and the lane of whoever gets it does not end by itself.
func TestALineWaitsBesideLanesThatStay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, slug := range []string{"a", "b", "c"} {
		enrolltest.OpenRun(t, p.store, slug, nil)
	}
	w := p.worker(p.store, func(o *lane.Options) { o.MaxLanes = 1; o.LaneIdle = time.Minute; o.SweepAllInterval = time.Second })
	p.ask("a", 1)
	p.waitUntilDrained()
	p.accept("b", 1)
	p.accept("c", 1)
	pgtest.Exec(t, p.url, `UPDATE requests SET accepted_at = accepted_at - interval '1 minute' WHERE status = 'queued'`)
	p.waitUntilDrained()
	if lanes := w.lanes(); lanes > 1 {
		t.Errorf("%v lanes", lanes)
	}
}
