package systemtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// aMailIsInterrupted has the worker die while it sends a confirmation. The
// outbox is then in the state left, and in the end the mail arrives arrive
// times.
func aMailIsInterrupted(left string, arrive int) crash {
	return func(t *testing.T, at crashpoint.Point) {
		const seats = 1
		s := newCrashSite(t)
		m := s.withMail()
		s.openCrashRun(seats)
		api := s.start("api")
		worker := s.startToDie("worker", string(at))
		answers := make([]told, 2)
		s.askAll(api, "a", answers, 0, len(answers))
		worker.requireDead()
		if states := s.mailStates(); states != left {
			t.Errorf("the outbox says %q, want %q", states, left)
		}
		s.letAMinutePass()
		s.start("worker")
		s.waitForMail("sent 1")
		// A task that the dead worker did not acknowledge comes again and finds
		// nothing to do.
		testwait.Until(t, "the queue is empty", func() bool {
			queue, err := asynq.NewInspectorFromRedisClient(s.redis.Client()).GetQueueInfo("mail")
			return err == nil && queue.Size == 0
		})
		letters := m.letters()
		if len(letters) != arrive || letters[0].to != "p0@example.org" || len(slices.Compact(letters)) != 1 {
			t.Errorf("these mails arrived: %+v; want one mail, %d times", letters, arrive)
		}
		s.requireSettled("a", seats, answers)
	}
}

// letAMinutePass ends the leases of abandoned tasks, since Asynq's leases last
// longer than a test should take.
func (s *site) letAMinutePass() {
	s.t.Helper()
	c, ctx := s.redis.Client(), context.Background()
	const leases = "asynq:{mail}:lease"
	tasks, err := c.ZRange(ctx, leases, 0, -1).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, task := range tasks {
		if err := c.ZAdd(ctx, leases, redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: task}).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// theRelayDiesWithReminders checks that each reminder is written once and sent
// once.
func theRelayDiesWithReminders(t *testing.T, at crashpoint.Point) {
	s := newCrashSite(t)
	m := s.withMail()
	s.openCrashRun(1)
	api := s.start("api")
	before := s.start("worker")
	s.askAll(api, "a", make([]told, 1), 0, 1)
	s.waitForMail("sent 1")
	before.stop()
	pgtest.Exec(t, s.url, `UPDATE mails SET left_at = left_at - interval '2 days', ended_at = ended_at - interval '2 days'`)
	pgtest.Exec(t, s.url, `DELETE FROM run_reminders`)
	s.startToDie("worker", string(at)).requireDead()
	if states := s.mailStates(); states != "pending 1, sent 1" {
		t.Errorf("the outbox says %q", states)
	}
	s.start("worker")
	s.waitForMail("sent 2")
	if letters := m.letters(); len(letters) != 2 || letters[0] == letters[1] {
		t.Errorf("these mails arrived: %+v; want a confirmation and a reminder", letters)
	}
	pgtest.RequireSound(t, s.url)
}
