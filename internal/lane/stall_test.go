package lane_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// laneHolder returns the pid of the session that holds the run's lane lock.
func (p *place) laneHolder(run enroll.RunID) int {
	p.t.Helper()
	var pids []int
	testwait.Until(p.t, "the lane holds its lock", func() bool {
		pids = pgtest.Query[int](p.t, p.url, `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid::bigint = $1 AND objsubid = 2 AND granted`, int64(run))
		return len(pids) == 1
	})
	return pids[0]
}

// people returns the numbers of people from first to last.
func people(first, last int) (all []int) {
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// meeting is a ledger in which, once it is awaited, the first to settle waits for a
// second to settle at the same time.
type meeting struct {
	lane.Ledger
	awaited atomic.Bool
	here    chan struct{} // without room
	met     atomic.Bool
}

func (m *meeting) Settle(ctx context.Context, runs []enroll.RunID, terms enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error) {
	if m.awaited.Load() && !m.met.Load() {
		select {
		case m.here <- struct{}{}:
		case <-m.here:
			m.met.Store(true)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return m.Ledger.Settle(ctx, runs, terms)
}

// TestTheBackendThatHoldsTheLaneLocksIsFrozen: Postgres neither answers on the lock
// connection nor gives up its locks, and no other worker can take them. 5000
// requests are decided all the same, by two workers who settle the line at once,
// and nobody twice. When the locks are free, tasks drive the line again.
func TestTheBackendThatHoldsTheLaneLocksIsFrozen(t *testing.T) {
	t.Parallel()
	const asking, seats = 5000, 30
	server := pgtest.StartServer(t)
	p := newPlaceOn(t, server.URL())
	id := enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(seats))
	ledger := &meeting{Ledger: p.store, here: make(chan struct{})}
	stay := func(o *lane.Options) { attentive(o); o.LaneIdle = time.Minute }
	workers := []*worker{p.worker(ledger, stay), p.worker(ledger, stay)}
	p.ask("a", 0)
	p.waitUntilDrained()
	thaw := server.Freeze(p.laneHolder(id))
	testwait.Until(t, "a worker loses its locks", func() bool {
		return workers[0].metric("lastseat_lane_locks_lost_total", "")+workers[1].metric("lastseat_lane_locks_lost_total", "") > 0
	})

	ledger.awaited.Store(true)
	for first := 1; first <= asking; first += 500 {
		p.ask("a", people(first, first+499)...)
	}
	began := time.Now()
	testwait.Until(t, "the run has no request left", func() bool {
		run, err := p.store.Run(t.Context(), "a")
		return err == nil && run.Waiting() == 0
	})
	t.Logf("%d requests were decided within %s", asking, time.Since(began))
	waitUntilSettled(t, asking+1, workers...)
	if stall := workers[0].settled("stall") + workers[1].settled("stall"); stall != asking {
		t.Errorf("%v requests were settled without the lane's lock, want %d", stall, asking)
	}
	pgtest.RequireSound(t, p.url)
	if mails := pgtest.Query[int64](t, p.url, `SELECT count(*) FROM mails WHERE kind = 'confirmed'`)[0]; mails != seats {
		t.Errorf("%d people are told that they have a seat, want %d", mails, seats)
	}

	p.ask("a", asking+1) // at the next look, not after another three seconds
	p.waitUntilDrained()
	thaw()
	n := asking + 1
	testwait.Until(t, "a request is settled by its task", func() bool {
		n++
		p.ask("a", n)
		p.waitUntilDrained()
		return workers[0].settled("task")+workers[1].settled("task") > 1
	})
	pgtest.RequireSound(t, p.url)
}

// muteLocks get no answer on their connection.
type muteLocks struct{ lane.Locks }

func (muteLocks) TryLock(ctx context.Context, _ ...enroll.RunID) ([]enroll.RunID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (muteLocks) Ping(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (muteLocks) Close() {}

// TestAWorkerWithoutLaneLocks settles what it finds, whatever keeps it from the
// locks.
func TestAWorkerWithoutLaneLocks(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]error{
		"hangs in each word on the lock connection": nil,
		"gets no other connection":                  errors.New("no connection"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(1))
			var connected atomic.Bool
			p.locks = func(context.Context) (lane.Locks, error) {
				if connected.Swap(true) && next != nil {
					return nil, next
				}
				return muteLocks{}, nil
			}
			w := p.worker(p.store, attentive)
			p.ask("a", 1, 2)
			p.waitUntilDrained()
			waitUntilSettled(t, 2, w)
			if n := w.settled("stall"); n != 2 {
				t.Errorf("%v requests were settled without the lane's lock, want 2", n)
			}
			pgtest.RequireSound(t, p.url)
		})
	}
}
