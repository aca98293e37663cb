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
	tidyEvery   = 10 * time.Second

	// roundMost is how many people one transaction writes mails for, and lookMost
	// for how many one look does: mails that are due must not wait for it.
	roundMost = 1000
	lookMost  = 5000

	// lookTimeout bounds what one look may cost.
	lookTimeout = 5 * time.Second
)

// Relay puts the mails that are due on the queue, and writes those that go to
// everybody in a run: notices of a change, and reminders. Any number of workers
// may have one.
type Relay struct {
	*Common
	tasks *taskqueue.Client
	queue *outage.Log
}

// NewRelay returns the relay of a worker.
func NewRelay(o *Common, c redis.UniversalClient) *Relay {
	return &Relay{
		Common: o,
		tasks:  taskqueue.NewClient(c),
		queue: outage.New(o.log, slog.LevelWarn, "mails are not put on the queue: they wait in the outbox",
			"mails reach the queue again"),
	}
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.options.Interval)
	defer ticker.Stop()
	var reminded, tidied time.Time
	for now := time.Now(); ; {
		r.write(ctx, func(ctx context.Context) (int, bool, error) {
			return r.outbox.WriteChanges(ctx, r.options.ChangeWindow, roundMost)
		})
		if r.options.RemindBefore > 0 && now.Sub(reminded) >= remindEvery {
			more := r.write(ctx, func(ctx context.Context) (int, bool, error) {
				return r.outbox.WriteReminders(ctx, r.options.RemindBefore, roundMost)
			})
			if !more {
				reminded = now
			}
		}
		if now.Sub(tidied) >= tidyEvery {
			tidied = now
			r.tidy(ctx)
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
	looking, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	due, err := r.outbox.MailsDue(looking, most)
	if err == nil {
		err = r.relay(looking, due)
	}
	r.asked(ctx, err)
}

// relay puts the mails on the queue and notes that it did, in this order: dying in
// between puts a mail on the queue once more, which is one task all the same. Only
// the first step ends with ctx: what it has come to is noted also by a look that
// took too long, or the next one would find all of it again. The error is the
// outbox's.
func (r *Relay) relay(ctx context.Context, due []enroll.DueMail) error {
	pending, taken := r.enqueue(ctx, due)
	ctx = context.WithoutCancel(ctx)
	there, active, lost := r.classify(ctx, taken)
	again, err := r.replace(ctx, lost)
	pending = append(append(pending, there...), again...)
	return errors.Join(err, r.note(ctx, pending, relayAgain), r.note(ctx, active, activeAgain))
}

// note notes that mails are on the queue.
func (r *Relay) note(ctx context.Context, relayed []enroll.DueMail, again time.Duration) error {
	if len(relayed) == 0 {
		return nil
	}
	crashpoint.Here(crashpoint.RelayEnqueued)
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return r.outbox.MailsRelayed(ctx, relayed, again)
}

// enqueue puts a task for each of the mails on the queue until one fails. It
// returns those that are there now, and those whose task has its name taken.
func (r *Relay) enqueue(ctx context.Context, due []enroll.DueMail) (relayed, taken []enroll.DueMail) {
	for _, d := range due {
		crashpoint.Here(crashpoint.RelayDue)
		task, options := newTask(d)
		switch err := r.tasks.Enqueue(ctx, task, options...); {
		case err == nil:
			relayed = append(relayed, d)
		case errors.Is(err, taskqueue.ErrTaken):
			taken = append(taken, d)
		default:
			r.queue.Failed(err)
			return relayed, taken
		}
		r.queue.Recovered()
	}
	return relayed, taken
}

// classify says what the queue does about mails whose task has its name taken.
// While Redis does not answer, they are none of the three.
func (r *Relay) classify(ctx context.Context, taken []enroll.DueMail) (pending, active, lost []enroll.DueMail) {
	if len(taken) == 0 {
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	states, err := r.tasks.States(ctx, QueueName, taskIDs(taken))
	if err != nil {
		r.queue.Failed(err)
		return nil, nil, nil
	}
	for i, d := range taken {
		switch states[i] {
		case taskqueue.Pending:
			pending = append(pending, d)
		case taskqueue.Active:
			active = append(active, d)
		default:
			lost = append(lost, d)
		}
	}
	return pending, active, lost
}

// replace puts tasks in the place of those that are lost, and returns the mails
// for which there is one now. The outbox lets one of several relays do so: it
// gives the mail another name, by which the next look goes on if this relay dies
// here.
func (r *Relay) replace(ctx context.Context, lost []enroll.DueMail) ([]enroll.DueMail, error) {
	if len(lost) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	renamed, err := r.outbox.ReplaceTasks(ctx, lost)
	if err != nil || len(renamed) == 0 {
		return nil, err
	}
	r.metrics.replaced.Add(float64(len(renamed)))
	r.log.Warn("the queue has lost tasks of mails: others take their place", "tasks", len(renamed))
	relayed, _ := r.enqueue(ctx, renamed)
	for i := range renamed {
		renamed[i].Replaced-- // to the name of the lost one
	}
	if err := r.tasks.Drop(ctx, QueueName, taskIDs(renamed)); err != nil {
		r.queue.Failed(err)
	}
	return relayed, nil
}

func taskIDs(mails []enroll.DueMail) []string {
	ids := make([]string, len(mails))
	for i, d := range mails {
		ids[i] = taskID(d)
	}
	return ids
}

// write writes mails that go to everybody in a run, for as many people as one
// look may, and tells whether there may be more.
func (r *Relay) write(ctx context.Context, batch func(context.Context) (people int, found bool, err error)) (more bool) {
	for left := lookMost; left > 0; {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		people, found, err := batch(ctx)
		cancel()
		r.asked(ctx, err)
		if err != nil || !found {
			return false
		}
		crashpoint.Here(crashpoint.RoundWritten)
		left -= people + roundMost/10 // a run of nobody costs something, too
	}
	return true
}

// tidy looks for mails and tasks that nothing else would find, and measures how
// much waits.
func (r *Relay) tidy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	mended, err := r.outbox.MendDueTimes(ctx, enroll.MailWaits{
		Lease: r.lease(), RetryMin: r.options.RetryMin, RetryMax: r.options.RetryMax, Held: max(r.options.Pace, relayAgain),
	})
	if mended > 0 {
		r.log.Warn("mails had times that lie in the future: they are due now. Was the clock set back?", "mails", mended)
	}
	var backlog enroll.MailBacklog
	if err == nil {
		backlog, err = r.outbox.MailBacklog(ctx)
	}
	r.asked(ctx, err)
	if err == nil {
		r.metrics.pending.Set(float64(backlog.Pending))
		r.metrics.overdue.Set(float64(backlog.Overdue))
		r.metrics.oldest.Set(backlog.Oldest.Seconds())
	}
	if _, err := r.tasks.DropAbandoned(ctx, QueueName); err != nil && ctx.Err() == nil {
		r.queue.Failed(err)
	}
}

// asked notes how asking the outbox went.
func (r *Relay) asked(ctx context.Context, err error) {
	switch {
	case err == nil:
		r.blind.Recovered()
	case errors.Is(ctx.Err(), context.Canceled): // it was told to stop
	default:
		r.blind.Failed(err)
	}
}
