package taskqueue_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

// tasks is a queue on a Redis of its own, and whatever Asynq makes of it.
type tasks struct {
	*taskqueue.Client
	t         *testing.T
	redis     *redis.Client
	inspector *asynq.Inspector
}

const (
	queue = "q"
	keys  = "asynq:{q}:"
)

func newTasks(t *testing.T, ids ...string) *tasks {
	t.Helper()
	c := redistest.Start(t).Client()
	q := &tasks{Client: taskqueue.NewClient(c), t: t, redis: c, inspector: asynq.NewInspectorFromRedisClient(c)}
	for _, id := range ids {
		if err := q.Enqueue(t.Context(), asynq.NewTask("a", nil), asynq.Queue(queue), asynq.TaskID(id)); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func (q *tasks) requireStates(ids []string, want ...taskqueue.State) {
	q.t.Helper()
	got, err := q.States(q.t.Context(), queue, ids)
	if err != nil || !slices.Equal(got, want) {
		q.t.Errorf("the states of %v are %v (%v), want %v", ids, got, err, want)
	}
}

// serve handles tasks until the test ends: each waits for a word on release.
func (q *tasks) serve() (handling <-chan string, release chan<- error) {
	q.t.Helper()
	begun, end := make(chan string, 10), make(chan error)
	server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
		Queues: map[string]int{queue: 1}, Concurrency: 1, TaskCheckInterval: 10 * time.Millisecond,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
		Logger:         taskqueue.Log{Log: slog.New(slog.DiscardHandler)},
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		begun <- t.Type()
		return <-end
	}))
	if err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(server.Shutdown)
	return begun, end
}

// TestStatesAreAsynqs: the keys that are read are those that Asynq writes.
func TestStatesAreAsynqs(t *testing.T) {
	t.Parallel()
	q := newTasks(t, "one", "two", "three")
	ids := []string{"one", "two", "three", "none"}
	q.requireStates(ids, taskqueue.Pending, taskqueue.Pending, taskqueue.Pending, taskqueue.Lost)
	if err := q.Enqueue(t.Context(), asynq.NewTask("a", nil), asynq.Queue(queue), asynq.TaskID("two")); err == nil {
		t.Error("a name that is taken was given again")
	}
	handling, release := q.serve()
	<-handling
	q.requireStates(ids, taskqueue.Active, taskqueue.Pending, taskqueue.Pending, taskqueue.Lost)
	release <- asynq.SkipRetry // archived
	<-handling
	q.requireStates(ids[:2], taskqueue.Lost, taskqueue.Active)
	release <- context.Canceled // to be tried again in an hour
	<-handling
	q.requireStates(ids[1:3], taskqueue.Lost, taskqueue.Active)
	release <- nil
	if err := q.Drop(t.Context(), queue, []string{"one", "two"}); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "nothing is left of dropped tasks", func() bool {
		info, err := q.inspector.GetQueueInfo(queue)
		return err == nil && info.Size == 0
	})
	for _, id := range []string{"one", "two"} {
		if err := q.Enqueue(t.Context(), asynq.NewTask("a", nil), asynq.Queue(queue), asynq.TaskID(id)); !errors.Is(err, taskqueue.ErrTaken) {
			t.Errorf("the name of a task that was dropped is free at once (%v)", err)
		}
		if left := q.redis.TTL(t.Context(), keys+"t:"+id).Val(); left <= 0 {
			t.Errorf("it is taken for %s", left)
		}
	}
}

func TestWhatIsAbandonedIsDropped(t *testing.T) {
	t.Parallel()
	q := newTasks(t, "live", "unleased", "over", "returns", "pending")
	ctx := t.Context()
	for id, lease := range map[string]time.Duration{"live": time.Minute, "unleased": 0, "over": -time.Hour, "returns": -time.Minute} {
		q.redis.LRem(ctx, keys+"pending", 0, id)
		q.redis.LPush(ctx, keys+"active", id)
		q.redis.HSet(ctx, keys+"t:"+id, "state", "active")
		if lease != 0 {
			q.redis.ZAdd(ctx, keys+"lease", redis.Z{Score: float64(time.Now().Add(lease).Unix()), Member: id})
		}
	}
	q.requireStates([]string{"live", "unleased", "over", "returns", "pending"},
		taskqueue.Active, taskqueue.Lost, taskqueue.Lost, taskqueue.Lost, taskqueue.Pending)
	if n, err := q.DropAbandoned(ctx, queue); err != nil || n != 2 {
		t.Errorf("dropped were %d (%v), want 2", n, err)
	}
	left, err := q.redis.LRange(ctx, keys+"active", 0, -1).Result()
	slices.Sort(left)
	if err != nil || !slices.Equal(left, []string{"live", "returns"}) {
		t.Errorf("active are %v (%v)", left, err)
	}
}
