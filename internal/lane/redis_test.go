package lane_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	people := func(from, n int) (all []int) {
		for i := range n {
			all = append(all, from+i)
		}
		return all
	}

	t.Run("Redis is killed: lines move at the sweep's pace, and by tasks when it is back, empty", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(7))
		w := p.worker(p.store, nil)
		p.ask("a", people(0, 5)...)
		p.waitUntilDrained()
		waitUntilSettled(t, 5, w)
		p.redis.Kill()
		before := w.settled("sweep")
		p.ask("a", people(100, 5)...)
		p.waitUntilDrained()
		waitUntilSettled(t, 10, w)
		if n := w.settled("sweep") - before; n != 5 {
			t.Errorf("the sweep settled %v, want 5", n)
		}
		p.redis.Restart()
		testwait.Until(t, "Redis answers", func() bool { return p.client.Ping(context.Background()).Err() == nil })
		testwait.Until(t, "a request is settled by its task", func() bool {
			before := w.settled("task")
			p.ask("a", 200+int(before))
			p.waitUntilDrained()
			return w.settled("task") > before
		})
		pgtest.RequireSound(t, p.url)
	})

	t.Run("Redis is flushed: everything is settled, and one request brings the queue back into view", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		p.worker(p.store, nil)
		for i := range 30 {
			p.ask("a", i)
			if i == 15 {
				if err := p.client.FlushAll(context.Background()).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		p.waitUntilDrained()
		if err := p.client.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the sender remembers for a quarter of a second which queues Redis knows
		p.ask("a", 100)
		p.waitUntilDrained()
		testwait.Until(t, "Redis knows the queue again", func() bool {
			names, err := asynq.NewInspectorFromRedisClient(p.client).Queues()
			return err == nil && len(names) == 1 && names[0] == lane.QueueName("a")
		})
		pgtest.RequireSound(t, p.url)
	})
}

func TestTimingWithoutRedis(t *testing.T) {
	t.Parallel()

	t.Run("Redis hangs: notifying never blocks and lines move", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		p.worker(p.store, nil)
		p.ask("a", 1)
		p.waitUntilDrained()
		p.redis.Freeze()
		began := time.Now()
		for i := range 20 {
			p.ask("a", 10+i)
		}
		testwait.Promised(t, "ringing twenty times", time.Since(began), 2*time.Second)
		p.waitUntilDrained()
		p.redis.Thaw()
		pgtest.RequireSound(t, p.url)
	})

	t.Run("a worker stops in good time although Redis hangs", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		w := p.worker(p.store, nil)
		p.ask("a", 1)
		p.waitUntilDrained()
		p.redis.Freeze()
		began := time.Now()
		w.stop()
		testwait.Promised(t, "stopping", time.Since(began), 15*time.Second)
		p.redis.Thaw()
	})
}
