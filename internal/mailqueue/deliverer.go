package mailqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
	"github.com/lastseat/lastseat/internal/taskqueue"
)

// probeMax is the longest that a mail waits because the mail server cannot be
// reached: asking whether it is back costs little, since one mail does it for
// all.
const probeMax = 30 * time.Second

const (
	attemptsLeast  = 3 // before a mail is given up because it is old
	unansweredMost = 5 // attempts, once the mail server has taken a mail and not said so
)

// claimTimeout bounds one question to the outbox.
const claimTimeout = 3 * time.Second

// Send sends a mail, or returns an *enroll.SendError.
type Send func(ctx context.Context, m enroll.Mail) error

// Deliverer sends the mails that are on the queue.
type Deliverer struct {
	*Common
	queues redis.UniversalClient
	send   Send
	limit  *rate.Limiter
	lease  time.Duration // longer than an attempt can take
	grace  time.Duration // for what is being sent when it stops
	server *outage.Log
	// unnoted has the mails of which it could not be noted yet how an attempt
	// ended: their claims may be over, but they are not to be sent again.
	unnoted sync.Map
}

// NewDeliverer returns the deliverer of a worker. What it is told to send goes through
// send.
func NewDeliverer(o *Common, queues redis.UniversalClient, send Send) *Deliverer {
	return &Deliverer{
		Common: o,
		queues: queues,
		send:   send,
		limit:  rate.NewLimiter(rate.Limit(o.options.PerSecond), o.options.Concurrency),
		lease:  o.lease(),
		// To end in the middle of an attempt would be to send a mail twice:
		// there is time to claim it, to send it and to note that.
		grace: max(o.options.ShutdownTimeout, o.options.SendTimeout+2*claimTimeout),
		server: outage.New(o.log, slog.LevelWarn, "the mail server takes no mail: mails wait",
			"the mail server takes mail again"),
	}
}

// Run sends until ctx ends, and then finishes the mails that are on their way.
func (d *Deliverer) Run(ctx context.Context) error {
	server := asynq.NewServerFromRedisClient(d.queues, asynq.Config{
		Queues:                   map[string]int{QueueName: 1},
		Concurrency:              d.options.Concurrency,
		TaskCheckInterval:        d.options.Interval / 4,
		DelayedTaskCheckInterval: d.options.Interval,
		ShutdownTimeout:          d.grace,
		// When a mail is tried again stands in the outbox. A task comes again by
		// itself only if it was lost or not begun.
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 2 * time.Second },
		Logger:         taskqueue.Log{Log: d.log.With("from", "asynq", "queue", QueueName)},
		LogLevel:       asynq.WarnLevel,
	})
	handler := func(_ context.Context, t *asynq.Task) error { return d.handle(ctx, t) }
	if err := server.Start(asynq.HandlerFunc(handler)); err != nil {
		return fmt.Errorf("starting the deliverer: %w", err)
	}
	<-ctx.Done()
	server.Shutdown()
	return nil
}

// handle makes one attempt to send a mail. An error means that it was not made
// because ctx had ended, or that the task is not ours. What the outbox does not
// answer to is put on the queue again by the relay.
func (d *Deliverer) handle(ctx context.Context, t *asynq.Task) error {
	due, err := parseTask(t)
	if err != nil {
		d.log.Error("a task on the mail queue is not ours", "error", err)
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	if _, is := d.unnoted.Load(due.ID); is {
		return nil
	}
	if err := d.limit.Wait(ctx); err != nil {
		return err
	}
	crashpoint.Here(crashpoint.MailTaken)
	// From here on it goes to the end, even if the worker is stopping: to give
	// up in the middle would be to send it twice.
	began := time.Now()
	claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	m, err := d.outbox.ClaimMail(claiming, due, enroll.ClaimLimits{Lease: d.lease, Pace: d.options.Pace})
	if enroll.CodeOf(err) == enroll.NotFound {
		return nil // another worker did, or another mail comes first
	}
	if err != nil {
		d.blind.Failed(err)
		return nil
	}
	d.blind.Recovered()
	crashpoint.Here(crashpoint.MailClaimed)
	end, result := d.attempt(m, began.Add(claimTimeout+d.options.SendTimeout))
	d.metrics.attempts.WithLabelValues(string(m.Kind), result).Inc()
	crashpoint.Here(crashpoint.MailSent)
	d.note(ctx, m, end)
	crashpoint.Here(crashpoint.MailNoted)
	return nil
}

// attempt sends the mail if it still says how things are, and returns how that
// ended and its result for the metrics. It ends at the deadline, which counts
// from before the claim: a worker that was paused since must not send what another
// one may have claimed by now.
func (d *Deliverer) attempt(m enroll.Mail, deadline time.Time) (end enroll.MailAttempt, result string) {
	if why := cmp.Or(m.Obsolete(), d.needless(m)); why != "" {
		result = resultSkipped
		if !m.Superseded() && m.Overdue() != "" {
			result = resultOverdue
		}
		return enroll.MailAttempt{State: enroll.MailSkipped, Problem: why}, result
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	began := time.Now()
	err := d.trySend(ctx, m)
	d.metrics.seconds.Observe(time.Since(began).Seconds())
	if err == nil {
		d.reached()
		return enroll.MailAttempt{State: enroll.MailSent}, resultSent
	}

	about := m.About[0]
	log := d.log.With("mail", m.ID, "kind", m.Kind, "attempt", m.Attempt, "run", about.Run, "ticket", about.Ticket)
	e, is := errors.AsType[*enroll.SendError](err)
	if !is {
		e = &enroll.SendError{Code: enroll.CodeOf(err), Err: err}
	}
	end = enroll.MailAttempt{State: enroll.MailPending, After: d.pause(m.Attempt), Problem: problem(e), Unanswered: e.Unanswered}
	switch e.Code {
	case enroll.Unavailable: // it is nobody's mail in particular
		d.missed(e)
		end.After = min(end.After, probeMax)
		result = resultUnreachable
	case enroll.MailDeferred:
		d.reached()
		log.Info("a mail is deferred", "error", e, "again_after", end.After)
		result = resultDeferred
	case enroll.MailRefused:
		d.reached()
		end.State, result = enroll.MailFailed, resultRefused
	case enroll.Invalid: // trying again does not help: an organiser corrects the value and has it sent again
		end.State, result = enroll.MailFailed, resultInvalid
	default:
		log.Error("a mail cannot be written", "error", e)
		result = resultDefect
	}
	// A mail that was old before its first attempt, since nobody was there to send
	// it, gets some all the same. One that may have been delivered is not sent for
	// ever.
	old := m.Now.Sub(m.DueAt) >= d.options.GiveUpAfter && m.Attempt >= attemptsLeast
	if end.State == enroll.MailPending && (old || e.Unanswered && m.Attempt >= unansweredMost) {
		end.State, result = enroll.MailFailed, resultGivenUp
	}
	if end.State == enroll.MailFailed {
		level := slog.LevelWarn
		if result == resultInvalid {
			level = slog.LevelError // it concerns all mails about the run
		}
		log.Log(ctx, level, "a mail has failed for good", "error", e)
	}
	return end, result
}

// trySend sends the mail. A panic is a defect like others.
func (d *Deliverer) trySend(ctx context.Context, m enroll.Mail) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &enroll.SendError{Code: enroll.Internal, Err: fmt.Errorf("a panic: %.200v\n%s", r, debug.Stack())}
		}
	}()
	if ctx.Err() != nil { // it was paused
		return &enroll.SendError{Code: enroll.MailDeferred, Err: errors.New("there was no time left to send it")}
	}
	return d.send(ctx, m)
}

// needless returns why nobody needs to be reminded now, and "" if they do: the
// run was put off since, or they were told of this start within the time in which
// it is reminded of.
func (d *Deliverer) needless(m enroll.Mail) string {
	if m.Kind != enroll.MailReminder {
		return ""
	}
	e := m.About[0]
	switch from := e.For.StartsAt.Add(-d.options.RemindBefore); {
	case from.Sub(m.Now) > remindEvery:
		return "superseded: the run was put off, and is reminded of later"
	case e.LastTold.Status == enroll.Confirmed && !e.Moved() && e.LastTold.At.After(from):
		return "superseded: a later mail told when the run begins"
	}
	return ""
}

// reached notes that the mail server is there.
func (d *Deliverer) reached() {
	d.away.Store(false)
	d.metrics.away.Set(0)
	d.server.Recovered()
}

// missed notes that the mail server is away.
func (d *Deliverer) missed(err error) {
	d.away.Store(true)
	d.metrics.away.Set(1)
	d.server.Failed(err, "server", d.options.Server)
}

// pause returns how long to wait after an attempt, a bit more or less so that
// mails that failed together do not come back together.
func (d *Deliverer) pause(attempt int) time.Duration {
	pause := d.options.RetryMin
	for i := 1; i < attempt && pause < d.options.RetryMax; i++ {
		pause *= 2
	}
	pause = min(pause, d.options.RetryMax)
	return pause - time.Duration(rand.Int64N(int64(pause)/5+1)) //nolint:gosec // nobody gains by guessing it
}

// note writes how an attempt ended, trying again until it is written or the
// worker has stopped: what is not written down is sent twice. While the outbox
// cannot be reached, nobody else can claim the mail either, and when it can, this
// is faster than the relay. A defect is not tried again.
func (d *Deliverer) note(ctx context.Context, m enroll.Mail, end enroll.MailAttempt) {
	d.unnoted.Store(m.ID, true)
	defer d.unnoted.Delete(m.ID)
	var stopped time.Time
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		err := d.outbox.EndMailAttempt(writing, m.ID, m.Attempt, end)
		cancel()
		if err == nil {
			d.blind.Recovered()
			return
		}
		d.blind.Failed(err)
		if stopped.IsZero() && ctx.Err() != nil {
			stopped = time.Now()
		}
		if enroll.CodeOf(err) == enroll.Internal || !stopped.IsZero() && time.Since(stopped) > claimTimeout {
			d.log.Error("it is not noted how sending a mail ended: it may be sent twice", "mail", m.ID, "state", end.State, "error", err)
			return
		}
		time.Sleep(wait)
	}
}
