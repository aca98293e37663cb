package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/mailsink"
)

// mailFault makes the mail server misbehave for a while.
func mailFault(f mailsink.Fault) injection {
	return func(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
		s.sinkMu.Lock()
		defer s.sinkMu.Unlock()
		d := between(r, time.Second, 4*time.Second)
		s.sink.Misbehave(f)
		defer s.sink.Misbehave(mailsink.Fault{})
		report("for %s", d.Round(10*time.Millisecond))
		proc.Sleep(ctx, d)
		return nil
	}
}

// Where Asynq keeps the tasks of the mails.
const (
	pendingMails = "asynq:{" + mailqueue.QueueName + "}:pending"
	activeMails  = "asynq:{" + mailqueue.QueueName + "}:active"
	mailTaskKey  = "asynq:{" + mailqueue.QueueName + "}:t:"
)

// loseTask loses a pending task and returns its id; "" if there was none.
type loseTask func(ctx context.Context, c *redis.Client, i *asynq.Inspector) (string, error)

// vanish takes a task off the list and leaves its description, as if only a part
// of Redis' data had come back: the task's id stays taken.
func vanish(ctx context.Context, c *redis.Client, _ *asynq.Inspector) (string, error) {
	return orNone(c.RPop(ctx, pendingMails).Result())
}

// archive puts a task where no worker looks for tasks.
func archive(ctx context.Context, c *redis.Client, i *asynq.Inspector) (string, error) {
	id, err := orNone(c.LIndex(ctx, pendingMails, -1).Result())
	if id != "" {
		err = i.ArchiveTask(mailqueue.QueueName, id)
	}
	return id, err
}

// activateWithoutLease makes a task active in no worker's hands: there is no lease
// whose end would bring it back.
func activateWithoutLease(ctx context.Context, c *redis.Client, _ *asynq.Inspector) (string, error) {
	id, err := orNone(c.LMove(ctx, pendingMails, activeMails, "RIGHT", "LEFT").Result())
	if id != "" {
		err = c.HSet(ctx, mailTaskKey+id, "state", "active").Err()
	}
	return id, err
}

func orNone(id string, err error) (string, error) {
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return id, err
}

// mailTaskFault loses some tasks. It pauses the queue first, because tasks hardly
// ever wait.
func mailTaskFault(lose loseTask) injection {
	return func(ctx context.Context, s *system, r *rand.Rand, report reporter) (err error) {
		s.redis.Lock()
		defer s.redis.Unlock()
		o, err := redis.ParseURL(s.redisURL)
		if err != nil {
			return err
		}
		client := redis.NewClient(o)
		defer client.Close()
		inspector := asynq.NewInspectorFromRedisClient(client)
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
			id, err := lose(context.WithoutCancel(ctx), client, inspector)
			if err != nil {
				return err
			}
			if id != "" {
				lost++
			} else if !proc.Sleep(ctx, 50*time.Millisecond) {
				break
			}
		}
		if lost > 0 {
			report("%d", lost)
		}
		return nil
	}
}
