package lane_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/testwait"
)

// leaveTask puts a task on the queue of a run whose line is settled.
func (p *place) leaveTask(slug string) {
	p.t.Helper()
	id := enrolltest.OpenRun(p.t, p.store, slug, nil)
	p.ask(slug, 0)
	testwait.Until(p.t, "the task is on the queue", func() bool { return p.queue(slug).Size == 1 })
	if _, err := p.store.Settle(context.Background(), []enroll.RunID{id}, enrolltest.SettleLimits(10)); err != nil {
		p.t.Fatal(err)
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()

	t.Run("a task that a killed worker had is acknowledged although nobody asks for the run any more", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.leaveTask("a")
		// What a worker leaves that was killed two minutes ago. Killing one here
		// would take as long.
		ctx, prefix := context.Background(), "asynq:{"+lane.QueueName("a")+"}:"
		id, err := p.client.LMove(ctx, prefix+"pending", prefix+"active", "RIGHT", "LEFT").Result()
		if err != nil {
			t.Fatal(err)
		}
		p.client.HSet(ctx, prefix+"t:"+id, "state", "active")
		p.client.ZAdd(ctx, prefix+"lease", redis.Z{Score: float64(time.Now().Add(-90 * time.Second).Unix()), Member: id})
		p.worker(p.store, nil)
		testwait.Until(t, "the task is gone", func() bool { return p.queue("a").Size == 0 })
	})

	t.Run("a task that no lane will ever get is removed", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.leaveTask("a")
		ctx, prefix := context.Background(), "asynq:{"+lane.QueueName("a")+"}:"
		id, err := p.client.LMove(ctx, prefix+"pending", prefix+"active", "RIGHT", "LEFT").Result()
		if err != nil {
			t.Fatal(err)
		}
		p.client.HSet(ctx, prefix+"t:"+id, "state", "active") // and Redis has lost the lease
		p.worker(p.store, nil)
		testwait.Until(t, "the task is gone", func() bool { return p.queue("a").Size == 0 })
	})

	t.Run("a task of which nobody was told is acknowledged", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.leaveTask("a")
		p.worker(p.store, nil)
		testwait.Until(t, "the task is gone", func() bool { return p.queue("a").Size == 0 })
	})

	t.Run("a queue of somebody else is left alone", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.leaveTask("a")
		foreign := asynq.NewClientFromRedisClient(p.client)
		for _, queue := range []string{"default", "run:none"} {
			if _, err := foreign.Enqueue(asynq.NewTask("other", nil), asynq.Queue(queue)); err != nil {
				t.Fatal(err)
			}
		}
		p.worker(p.store, nil)
		testwait.Until(t, "the task is gone", func() bool { return p.queue("a").Size == 0 })
		for _, queue := range []string{"default", "run:none"} {
			if q, err := asynq.NewInspectorFromRedisClient(p.client).GetQueueInfo(queue); err != nil || q.Pending != 1 {
				t.Errorf("queue %s: %+v, %v", queue, q, err)
			}
		}
	})
}
