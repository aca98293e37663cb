package systemtest

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestAWorkerThatIsCutOffFromRedis cuts a worker off from Redis. The worker
// keeps its lock connection, and its sweep moves the line slowly. It must not
// keep the lane from a worker that hears of every request.
func TestAWorkerThatIsCutOffFromRedis(t *testing.T) {
	t.Parallel()
	s := newStage(t, recovery{})
	enrolltest.OpenRun(t, s.store, "a", nil)
	w, other := s.worker(true), s.worker(true)
	stop := s.trickle("a", false)
	defer stop()
	testwait.Until(t, "25 requests are decided", func() bool { return s.decided("a") > 25 })
	if !w.hasLane() {
		w, other = other, w
	}
	w.redis.Set(pgtest.BlackHole)
	const byTask = `lastseat_requests_settled_total{by="task"}`
	before := other.metric(byTask)
	testwait.Until(t, "the other worker settles by tasks", func() bool { return other.metric(byTask) > before+100 })
}
