package lane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/taskqueue"
)

// leftoversEvery is the time between two looks at the queues. Asynq hands the
// task of a killed worker out again a minute after that, so within two it is off
// the queue.
const leftoversEvery = time.Minute

// serveLeftovers starts lanes for runs on whose queues tasks are left that
// nobody serves: a worker was killed with one, the reply that handed one out was
// lost, or the message that rang for one. Their lines are settled long since,
// which the sweep sees to, so nobody else would come. A lane that finds nothing
// to settle acknowledges them. Tasks that no lane will ever get are removed, or
// each look would start one for them.
func (s *Supervisor) serveLeftovers(ctx context.Context) error {
	inspector := asynq.NewInspectorFromRedisClient(s.signals) // needs no closing: the client is ours
	tasks := taskqueue.NewClient(s.signals)
	timer := time.NewTimer(s.options.SweepInterval) // for the lock connection to be there
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := s.lookAtQueues(ctx, inspector, tasks); err != nil && ctx.Err() == nil {
			s.log.Debug("the queues cannot be looked at", "error", err) // of Redis, others speak
		}
		timer.Reset(leftoversEvery)
	}
}

// lookAtQueues looks at every run's queue, one after the other.
func (s *Supervisor) lookAtQueues(ctx context.Context, inspector *asynq.Inspector, tasks *taskqueue.Client) error {
	queues, err := inspector.Queues()
	if err != nil {
		return fmt.Errorf("listing the queues: %w", err)
	}
	served := s.served()
	for _, name := range queues {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		slug, is := strings.CutPrefix(name, queuePrefix)
		if !is || served[slug] {
			continue
		}
		q, err := inspector.GetQueueInfo(name)
		if errors.Is(err, asynq.ErrQueueNotFound) { // Redis has lost it since
			continue
		} else if err != nil {
			return fmt.Errorf("looking at queue %s: %w", name, err)
		}
		if err := s.serveLeftover(ctx, slug, q, tasks); err != nil {
			return fmt.Errorf("looking at queue %s: %w", name, err)
		}
	}
	return nil
}

// served returns the runs that have a lane here: it sees to their queues.
func (s *Supervisor) served() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	runs := make(map[string]bool, len(s.lanes))
	for _, l := range s.lanes {
		runs[l.slug] = true
	}
	return runs
}

// serveLeftover starts a lane for the run, if there are tasks on its queue and it
// has no lane anywhere.
func (s *Supervisor) serveLeftover(ctx context.Context, slug string, q *asynq.QueueInfo, tasks *taskqueue.Client) error {
	left := q.Pending + q.Active + q.Scheduled + q.Retry
	if left == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	run, err := s.ledger.Run(ctx, slug)
	if enroll.CodeOf(err) == enroll.NotFound {
		return nil // a queue that is not ours
	} else if err != nil {
		return err
	}
	if q.Active > 0 {
		abandoned, err := tasks.DropAbandoned(ctx, q.Queue)
		if err != nil {
			return err
		}
		left -= abandoned
	}
	if left > 0 {
		s.ring(ctx, call{run: run.ID, slug: slug, by: byLeftover})
	}
	return nil
}
