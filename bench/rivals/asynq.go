package rivals

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

// plainAsynq is Asynq as its documentation has it: one queue, one server that does
// one task at a time, a transaction per task. Order is that of the queue until a
// task is tried again or a server dies, and what is accepted is as safe as Redis.
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

type asynqDoor struct {
	client *asynq.Client
	server *asynq.Server
	queue  string // named for the database: Redis may hold what was left of another one's
}

func openAsynq(_ context.Context, s *server) (door, error) {
	parsed, err := asynq.ParseRedisURI(s.Redis)
	if err != nil {
		return nil, err
	}
	redis, is := parsed.(asynq.RedisClientOpt)
	if !is {
		return nil, fmt.Errorf("%s is not the URL of one Redis", s.Redis)
	}
	redis.PoolSize = 100 // the default is ten for each core, for which a crowd would wait
	d := &asynqDoor{client: asynq.NewClient(redis), queue: "registrations:" + s.db.Config().ConnConfig.Database}
	d.server = asynq.NewServer(redis, asynq.Config{
		Concurrency: 1, Queues: map[string]int{d.queue: 1}, LogLevel: asynq.ErrorLevel,
		TaskCheckInterval: 10 * time.Millisecond, // an idle queue is looked at every second by default
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

func (d *asynqDoor) ask(ctx context.Context, run int32, p person) (outcome, error) {
	payload, err := json.Marshal(newJob(run, p))
	if err != nil {
		return "", err
	}
	_, err = d.client.EnqueueContext(ctx, asynq.NewTask(asynqTask, payload), asynq.Queue(d.queue))
	return queued, err
}

// Close stops the server: what it has not begun stays in Redis.
func (d *asynqDoor) Close() error {
	d.server.Shutdown()
	return d.client.Close()
}
