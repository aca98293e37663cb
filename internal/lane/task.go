// Package lane is everything that knows Asynq: it rings for a run's new
// requests, and it serves each run's queue strictly one at a time.
//
// A lane is the one consumer of one run's queue, alive only while that run has
// work. Who may run it is decided by a Postgres advisory lock; what it does is
// to settle the run's line in ticket order. The queue only says when: a task
// that comes late, twice or never changes no outcome. The package must not know
// HTTP, nor how seats are given.
package lane

import (
	"encoding/json"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/enroll"
)

// settleTask is the type of the one task that stands on a run's queue: settle
// the run's line up to a ticket.
const settleTask = "requests:settle"

// maxRetry is more than a task can need: a lane tries again inside its handler,
// so that the head of the line blocks and order holds.
const maxRetry = 10_000

const queuePrefix = "run:"

// QueueName returns the name of the run's queue. It is the only place where the
// name is built.
func QueueName(run string) string { return queuePrefix + run }

// payload is the JSON form of a bundle: ids only, since queues are shown to
// operators.
type payload struct {
	RunID enroll.RunID `json:"run_id"`
	First int64        `json:"first_ticket"`
	Last  int64        `json:"last_ticket"`
}

// newTask returns the task for a bundle and its options. The task has an id of
// its own: one named after its tickets could find the name taken by a task that
// is lost, and a second task for a bundle costs nothing.
func newTask(b enroll.Bundle) (*asynq.Task, []asynq.Option) {
	body, err := json.Marshal(payload{b.RunID, b.First, b.Last})
	if err != nil {
		panic(err) // three integers
	}
	return asynq.NewTask(settleTask, body), []asynq.Option{
		asynq.Queue(QueueName(b.Run)),
		asynq.MaxRetry(maxRetry),
	}
}

func parseTask(t *asynq.Task) (payload, error) {
	var p payload
	if err := json.Unmarshal(t.Payload(), &p); err != nil {
		return p, fmt.Errorf("reading a task: %w", err)
	}
	if t.Type() != settleTask || p.RunID < 1 || p.First < 1 || p.Last < p.First {
		return p, fmt.Errorf("reading a task: type %q with tickets %d to %d is not ours", t.Type(), p.First, p.Last)
	}
	return p, nil
}
