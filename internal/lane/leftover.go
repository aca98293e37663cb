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

// leftoverInterval is the time between two looks at the queues. Asynq hands the
// task of a killed worker out again a minute later, so within two minutes it is
// off the queue.
const leftoverInterval = time.Minute

// leftovers looks for tasks that are left on the queues of runs although no
// lane serves them: a worker was killed with one, the reply that handed one out
// was lost, or the wake-up for one was. Their lines were settled by the sweep
// long ago, so nothing else would start a lane there. A lane that finds nothing
// to settle acknowledges them. Tasks that Asynq will never hand out are
// removed, or each look would start a lane for them.
type leftovers struct {
	ledger    Ledger
	inspector *asynq.Inspector
	tasks     *taskqueue.Client
	served    func() map[string]bool             // the runs that have a lane here
	request   func(context.Context, laneRequest) // asks for a lane
}

// serveLeftovers looks for leftover tasks until ctx ends, and requests lanes
// for them.
func (s *sweeper) serveLeftovers(ctx context.Context, served func() map[string]bool, request func(context.Context, laneRequest)) error {
	l := &leftovers{
		ledger:    s.ledger,
		inspector: asynq.NewInspectorFromRedisClient(s.redis), // not closed: the client is the caller's
		tasks:     taskqueue.NewClient(s.redis),
		served:    served,
		request:   request,
	}
	timer := time.NewTimer(s.options.SweepInterval) // by then there is a lock connection
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := l.look(ctx); err != nil && ctx.Err() == nil {
			s.log.Debug("the queues could not be searched for leftover tasks", "error", err) // an outage of Redis is logged elsewhere
		}
		timer.Reset(leftoverInterval)
	}
}

// look looks at the queues of all runs, one after the other.
func (l *leftovers) look(ctx context.Context) error {
	queues, err := l.inspector.Queues()
	if err != nil {
		return fmt.Errorf("listing the queues: %w", err)
	}
	served := l.served()
	for _, name := range queues {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		slug, ok := strings.CutPrefix(name, queuePrefix)
		if !ok || served[slug] {
			continue
		}
		q, err := l.inspector.GetQueueInfo(name)
		if errors.Is(err, asynq.ErrQueueNotFound) { // Redis has lost it meanwhile
			continue
		} else if err != nil {
			return fmt.Errorf("inspecting queue %s: %w", name, err)
		}
		if err := l.serve(ctx, slug, q); err != nil {
			return fmt.Errorf("serving the leftover tasks of queue %s: %w", name, err)
		}
	}
	return nil
}

// serve requests a lane for the run if there are tasks on its queue.
func (l *leftovers) serve(ctx context.Context, slug string, q *asynq.QueueInfo) error {
	left := q.Pending + q.Active + q.Scheduled + q.Retry
	if left == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	run, err := l.ledger.Run(ctx, slug)
	if enroll.CodeOf(err) == enroll.NotFound {
		return nil // another program's queue
	} else if err != nil {
		return err
	}
	if q.Active > 0 {
		abandoned, err := l.tasks.DropAbandoned(ctx, q.Queue)
		if err != nil {
			return err
		}
		left -= abandoned
	}
	if left > 0 {
		l.request(ctx, laneRequest{runID: run.ID, slug: slug, by: byLeftover})
	}
	return nil
}
