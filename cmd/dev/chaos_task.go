package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/mailqueue"
)

// Where Asynq keeps the tasks of the mails.
const (
	pendingMails = "asynq:{" + mailqueue.QueueName + "}:pending"
	activeMails  = "asynq:{" + mailqueue.QueueName + "}:active"
	mailTaskKey  = "asynq:{" + mailqueue.QueueName + "}:t:"
)

// tampering loses one task of those that are pending, and returns its id; "" if
// there was none.
type tampering func(ctx context.Context, c *redis.Client, i *asynq.Inspector) (string, error)

// vanish takes a task off the list and leaves what the queue knows of it, as if
// only a part of Redis' data had come back: its name stays taken.
func vanish(ctx context.Context, c *redis.Client, _ *asynq.Inspector) (string, error) {
	return orNone(c.RPop(ctx, pendingMails).Result())
}

// archive puts a task where nobody looks for tasks.
func archive(ctx context.Context, c *redis.Client, i *asynq.Inspector) (string, error) {
	id, err := orNone(c.LIndex(ctx, pendingMails, -1).Result())
	if id != "" {
		err = i.ArchiveTask(mailqueue.QueueName, id)
	}
	return id, err
}

// activateWithoutLease hands a task to nobody: it is active, and no lease ends
// after which somebody would miss it.
func activateWithoutLease(ctx context.Context, c *redis.Client, _ *asynq.Inspector) (string, error) {
	id, err := orNone(c.LMove(ctx, pendingMails, activeMails, "RIGHT", "LEFT").Result())
	if id != "" {
		err = c.HSet(ctx, mailTaskKey+id, "state", "active").Err()
	}
	return id, err
}

func orNone(id string, err error) (string, error) {
	if err == redis.Nil { //nolint:errorlint // go-redis returns it as it is
		return "", nil
	}
	return id, err
}

// mailTasks loses some tasks. The queue is paused first: tasks hardly ever wait.
func mailTasks(lose tampering) func(context.Context, *site, *rand.Rand, teller) error {
	return func(ctx context.Context, s *site, r *rand.Rand, tell teller) (err error) {
		s.redis.Lock()
		defer s.redis.Unlock()
		o, err := redis.ParseURL(s.redisURL)
		if err != nil {
			return err
		}
		client := redis.NewClient(o)
		defer client.Close()
		inspector := asynq.NewInspectorFromRedisClient(client)
		all := context.WithoutCancel(ctx)
		if err := inspector.PauseQueue(mailqueue.QueueName); err != nil {
			return err
		}
		defer func() {
			if e := inspector.UnpauseQueue(mailqueue.QueueName); err == nil {
				err = e
			}
		}()
		lost, most := 0, 1+r.IntN(5)
		for began := time.Now(); lost < most && time.Since(began) < 3*time.Second; {
			id, err := lose(all, client, inspector)
			if err != nil {
				return err
			}
			if id != "" {
				lost++
			} else if !sleep(ctx, 50*time.Millisecond) {
				break
			}
		}
		if lost > 0 {
			tell("%d", lost)
		}
		return nil
	}
}
