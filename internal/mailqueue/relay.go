package mailqueue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
	"github.com/lastseat/lastseat/internal/taskqueue"
)

const (
	remindEvery = time.Minute
	remindMost  = 1000 // reminders in one transaction
	countEvery  = 10 * time.Second

	// lookTimeout bounds what one look may cost.
	lookTimeout = 5 * time.Second
)

// Relay puts the mails that are due on the queue, and writes the reminders that
// have become due. Any number of workers may have one.
type Relay struct {
	*Office
	tasks *taskqueue.Client
	queue *outage.Log
}

// NewRelay returns the relay of a worker.
func NewRelay(o *Office, c redis.UniversalClient) *Relay {
	return &Relay{
		Office: o,
		tasks:  taskqueue.NewClient(c),
		queue: outage.New(o.log, slog.LevelWarn, "mails are not put on the queue: they wait in the outbox",
			"mails reach the queue again"),
	}
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.options.Interval)
	defer ticker.Stop()
	var reminded, counted time.Time
	for now := time.Now(); ; {
		if r.options.RemindBefore > 0 && now.Sub(reminded) >= remindEvery {
			reminded = now
			r.remind(ctx)
		}
		if now.Sub(counted) >= countEvery {
			counted = now
			r.count(ctx)
		}
		r.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case now = <-ticker.C:
		}
	}
}

// look puts the mails that are due on the queue, as many as may be sent until
// the next look.
func (r *Relay) look(ctx context.Context) {
	most := max(int(float64(r.options.PerSecond)*r.options.Interval.Seconds()), 1)
	if r.away.Load() {
		most = 1
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	due, err := r.outbox.MailsDue(ctx, most)
	if err != nil {
		r.asked(ctx, err)
		return
	}
	// On the queue first, then off the list: dying in between puts a mail on
	// the queue once more, which is one task all the same.
	var relayed []enroll.DueMail
	for _, d := range due {
		crashpoint.Here(crashpoint.RelayDue)
		task, options := newTask(d)
		if err := r.tasks.Enqueue(ctx, task, options...); err != nil {
			r.queue.Failed(err)
			break
		}
		r.queue.Worked()
		relayed = append(relayed, d)
	}
	if len(relayed) > 0 {
		crashpoint.Here(crashpoint.RelayEnqueued)
		err = r.outbox.MailsRelayed(ctx, relayed, relayAgain)
	}
	r.asked(ctx, err)
}

// remind writes the reminders that have become due.
func (r *Relay) remind(ctx context.Context) {
	for more := true; more; {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		written, err := r.outbox.Remind(ctx, r.options.RemindBefore, remindMost)
		crashpoint.Here(crashpoint.RemindersWritten)
		r.asked(ctx, err)
		cancel()
		more = err == nil && written == remindMost
	}
}

// count measures how much waits.
func (r *Relay) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	n, oldest, err := r.outbox.MailBacklog(ctx)
	r.asked(ctx, err)
	if err == nil {
		r.metrics.pending.Set(float64(n))
		r.metrics.oldest.Set(oldest.Seconds())
	}
}

// asked notes how asking the outbox went.
func (r *Relay) asked(ctx context.Context, err error) {
	switch {
	case err == nil:
		r.blind.Worked()
	case errors.Is(ctx.Err(), context.Canceled): // it was told to stop
	default:
		r.blind.Failed(err)
	}
}
