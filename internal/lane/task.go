// Package lane decides the requests in the lines of runs: it notifies the
// workers of new requests, and serves the queue of each run strictly one task
// at a time.
//
// A lane is the one consumer of one run's queue, alive only while that run has
// work. A Postgres advisory lock decides which worker has the lane. The lane
// settles the run's line in ticket order, and the queue only says when: a task
// that comes late, twice or never changes no outcome. The package must not know
// HTTP, nor how seats are given.
package lane

import (
	"encoding/json"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/enroll"
)

// settleTask is the type of all tasks on a run's queue: settle the run's line
// up to a ticket.
const settleTask = "requests:settle"

// maxRetry is more than a task can need: a lane tries again inside its handler.
const maxRetry = 10_000

const queuePrefix = "run:"

// QueueName returns the name of the run's queue. It is built nowhere else.
func QueueName(run string) string { return queuePrefix + run }

// payload is the JSON form of a bundle: ids only, since operators can see the
// queues.
type payload struct {
	RunID enroll.RunID `json:"run_id"`
	First int64        `json:"first_ticket"`
	Last  int64        `json:"last_ticket"`
}

// newTask returns the task for a bundle and its options. Asynq gives it a
// random id: an id made of the tickets could be taken by a task that was lost,
// and a second task for a bundle costs nothing.
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
		return p, fmt.Errorf("reading a task: its type is %q and its tickets are %d to %d, want type %q and ascending tickets",
			t.Type(), p.First, p.Last, settleTask)
	}
	return p, nil
}
