package rivals

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

// plainAsynq is Asynq as its documentation shows it: one queue, one server that
// does one task at a time, a transaction per task. Tasks keep the order of the
// queue until a task is tried again or a server dies, and what was accepted is as
// safe as Redis.
var plainAsynq = Contender{
	Name:      "asynq",
	What:      "a task per request in one Asynq queue, one server with concurrency 1, a transaction per task",
	Lacks:     "order after failures, receipt, status, survival",
	Recording: true,
	Async:     true,
	Pools:     []int{2}, // one task at a time needs no more
	seats:     attendances,
	open:      openAsynq,
}

const asynqTask = "registrations:decide"

type asynqBackend struct {
	client *asynq.Client
	server *asynq.Server
	queue  string // named after the database, since Redis may hold the tasks of another one
}

func openAsynq(_ context.Context, s *server) (backend, error) {
	parsed, err := asynq.ParseRedisURI(s.Redis)
	if err != nil {
		return nil, err
	}
	redis, ok := parsed.(asynq.RedisClientOpt)
	if !ok {
		return nil, fmt.Errorf("%s is not the URL of one Redis", s.Redis)
	}
	redis.PoolSize = 100 // by default ten per core, for which many people would wait
	d := &asynqBackend{client: asynq.NewClient(redis), queue: "registrations:" + s.db.Config().ConnConfig.Database}
	d.server = asynq.NewServer(redis, asynq.Config{
		Concurrency: 1, Queues: map[string]int{d.queue: 1}, LogLevel: asynq.ErrorLevel,
		TaskCheckInterval: 10 * time.Millisecond, // by default, an idle queue is checked once a second
	})
	decide := func(ctx context.Context, t *asynq.Task) error {
		var j job
		if err := json.Unmarshal(t.Payload(), &j); err != nil {
			return fmt.Errorf("reading a task: %w: %w", err, asynq.SkipRetry)
		}
		return s.db.decide(ctx, j)
	}
	return d, d.server.Start(asynq.HandlerFunc(decide))
}

func (d *asynqBackend) ask(ctx context.Context, run int32, p person) (outcome, error) {
	payload, err := json.Marshal(newJob(run, p))
	if err != nil {
		return "", err
	}
	_, err = d.client.EnqueueContext(ctx, asynq.NewTask(asynqTask, payload), asynq.Queue(d.queue))
	return queued, err
}

// Close stops the server. Tasks that it has not begun stay in Redis.
func (d *asynqBackend) Close() error {
	d.server.Shutdown()
	return d.client.Close()
}
