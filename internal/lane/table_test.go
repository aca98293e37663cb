package lane

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
)

// idleLocks are a connection on which everything succeeds.
type idleLocks struct{}

func (idleLocks) TryLock(_ context.Context, runs ...enroll.RunID) ([]enroll.RunID, error) {
	return runs, nil
}
func (idleLocks) Unlock(context.Context, ...enroll.RunID) error { return nil }
func (idleLocks) Ping(context.Context) error                    { return nil }
func (idleLocks) Close()                                        {}

// newTestTable returns a table and a supervisor that makes lanes for it.
func newTestTable() (*laneTable, *Supervisor) {
	m := NewMetrics(prometheus.NewRegistry())
	settler := NewSettler(nil, 1, enroll.SettleLimits{}, nil, nil, m)
	s := NewSupervisor(nil, nil, settler, nil, nil, Options{}, nil, m)
	return s.table, s
}

func newTestSession() *lockSession {
	return newLockSession(idleLocks{}, func(*lockSession, error) {})
}

func requestsFor(runs ...enroll.RunID) (requests []laneRequest) {
	for _, run := range runs {
		requests = append(requests, laneRequest{runID: run, slug: "run", by: byWake})
	}
	return requests
}

// lanesFor returns lanes that are a second apart in age, the oldest first.
func (s *Supervisor) lanesFor(session *lockSession, runs ...enroll.RunID) (lanes []*lane) {
	for i, r := range requestsFor(runs...) {
		l := s.newLane(session, r, time.Second)
		l.startedAt = time.Now().Add(time.Duration(i-len(runs)) * time.Second)
		lanes = append(lanes, l)
	}
	return lanes
}

func isStopped(l *lane) bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// TestLaneTable covers what can happen between a look at the table and the
// database's answer.
func TestLaneTable(t *testing.T) {
	t.Parallel()

	t.Run("a lane whose session was lost while its lock was taken is refused", func(t *testing.T) {
		t.Parallel()
		table, s := newTestTable()
		lost, next := newTestSession(), newTestSession()
		table.open(lost)
		session, lockable := table.lockable(requestsFor(1))
		if session != lost || len(lockable) != 1 {
			t.Fatalf("lockable: %v by session %p", lockable, session)
		}
		table.drop(lost)
		if table.add(session, s.lanesFor(session, 1)) {
			t.Error("it was added without a session")
		}
		table.open(next)
		if table.add(session, s.lanesFor(session, 1)) {
			t.Error("it was added to the lanes of the next session")
		}
		if !table.add(next, s.lanesFor(next, 1)) {
			t.Error("the next session cannot have a lane of that run")
		}
		if got := table.handedOver(); len(got) != 0 {
			t.Errorf("handed over are %v", got)
		}
	})

	t.Run("the end of a lost session's lane leaves the next session's alone", func(t *testing.T) {
		t.Parallel()
		table, s := newTestTable()
		lost, next := newTestSession(), newTestSession()
		table.open(lost)
		old := s.lanesFor(lost, 1)
		table.add(lost, old)
		if n := table.drop(lost); n != 1 {
			t.Errorf("%d lanes were lost, want 1", n)
		}
		table.open(next)
		table.add(next, s.lanesFor(next, 1))
		if _, removed := table.remove(old); len(removed) != 0 {
			t.Errorf("removed were %v", removed)
		}
		if missing, _ := table.missing(requestsFor(1)); len(missing) != 0 {
			t.Error("the lane of the next session is gone")
		}
		if n := table.drop(lost); n != 0 {
			t.Error("a session was lost twice")
		}
		if table.ready() != nil {
			t.Error("the loss of an old session made the worker unready")
		}
	})

	t.Run("runs that a lost session did not get are not elsewhere for the next one", func(t *testing.T) {
		t.Parallel()
		table, _ := newTestTable()
		lost, next := newTestSession(), newTestSession()
		table.open(lost)
		table.setElsewhere(lost, []enroll.RunID{1})
		if _, lockable := table.lockable(requestsFor(1, 2)); len(lockable) != 1 || lockable[0].runID != 2 {
			t.Errorf("lockable are %v, want run 2", lockable)
		}
		table.drop(lost)
		table.open(next)
		table.setElsewhere(lost, []enroll.RunID{2}) // the answer came, and then the loss
		if _, lockable := table.lockable(requestsFor(1, 2)); len(lockable) != 2 {
			t.Errorf("lockable are %v, want both runs", lockable)
		}
	})

	t.Run("a lane that another worker released is not elsewhere", func(t *testing.T) {
		t.Parallel()
		table, _ := newTestTable()
		session := newTestSession()
		table.open(session)
		table.setElsewhere(session, []enroll.RunID{1, 2})
		requests := requestsFor(1, 2)
		requests[0].released = true
		table.forgetElsewhere(requests)
		if _, lockable := table.lockable(requests); len(lockable) != 1 || lockable[0].runID != 1 {
			t.Errorf("lockable are %v, want run 1", lockable)
		}
	})

	t.Run("a lane whose lock was taken while the worker was told to stop is handed over", func(t *testing.T) {
		t.Parallel()
		table, s := newTestTable()
		session := newTestSession()
		table.open(session)
		table.add(session, s.lanesFor(session, 1))
		table.stop()
		if table.add(session, s.lanesFor(session, 2)) {
			t.Error("it was added")
		}
		if !table.handOver(requestsFor(3)) {
			t.Error("the table does not know that the worker is stopping")
		}
		for _, run := range []enroll.RunID{1, 2, 3} {
			if _, ok := table.handedOver()[run]; !ok {
				t.Errorf("run %d is not handed over", run)
			}
		}
		if got, _ := table.lockable(requestsFor(4)); got != nil {
			t.Error("locks may be taken")
		}
		if table.ready() == nil {
			t.Error("a worker that stops is ready")
		}
		table.unfinished.Done() // of the lane of run 1, the only one to wait for
		table.unfinished.Wait()
	})

	t.Run("the oldest lanes make room, one for each line that waits", func(t *testing.T) {
		t.Parallel()
		table, s := newTestTable()
		session := newTestSession()
		table.open(session)
		lanes := s.lanesFor(session, 1, 2, 3)
		table.add(session, lanes)
		table.wait(session, requestsFor(11, 12))
		if got := []bool{isStopped(lanes[0]), isStopped(lanes[1]), isStopped(lanes[2])}; !slices.Equal(got, []bool{true, true, false}) {
			t.Errorf("stopped are %v", got)
		}
		if waiting := table.notWaiting(requestsFor(11, 12, 13)); len(waiting) != 1 || waiting[0].runID != 13 {
			t.Errorf("not waiting are %v, want run 13", waiting)
		}
		table.remove(lanes[:1])
		if next := table.next(1); len(next) != 1 || next[0].runID != 11 {
			t.Errorf("the next line is %v, want run 11", next)
		}
		table.wait(session, nil) // one retires still, for the line that is left
		if isStopped(lanes[2]) {
			t.Error("a lane is retired for no line")
		}
	})

	t.Run("lanes of a lost session that were retiring make no room in the next one", func(t *testing.T) {
		t.Parallel()
		table, s := newTestTable()
		lost, next := newTestSession(), newTestSession()
		table.open(lost)
		old := s.lanesFor(lost, 1)
		table.add(lost, old)
		table.wait(lost, requestsFor(11))
		table.drop(lost)
		if waiting := table.next(10); len(waiting) != 0 {
			t.Errorf("without a session %v wait for capacity", waiting)
		}
		table.wait(lost, requestsFor(11)) // its lock was looked at before the loss
		if waiting := table.next(10); len(waiting) != 0 {
			t.Errorf("a lost session has %v wait for capacity", waiting)
		}
		table.open(next)
		lanes := s.lanesFor(next, 1)
		table.add(next, lanes)
		table.wait(next, requestsFor(11))
		if !isStopped(lanes[0]) {
			t.Error("no lane retires for the line")
		}
		table.remove(old)
		table.wait(next, nil)
		if table.retiring != 1 {
			t.Errorf("%d lanes are retiring, want 1", table.retiring)
		}
	})
}
