package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/taskqueue"
)

// handBack is how long the server of a lane that ended waits before it puts a
// task that it still took back to the head of the queue. Nothing is being
// settled by then.
const handBack = 100 * time.Millisecond

var errEnded = errors.New("the lane has ended")

// lane serves one run's queue.
type lane struct {
	run    enroll.RunID
	slug   string
	by     string // why it was started: byWake, bySweep, byLeftover
	born   time.Time
	idle   time.Duration
	poll   time.Duration
	redis  redis.UniversalClient
	settle func(ctx context.Context, run enroll.RunID, by string) (enroll.Progress, error)
	log    *slog.Logger

	closing *sync.WaitGroup // servers that are being closed

	stop     func()          // finish the transaction under way, then end
	stopped  <-chan struct{} // closed by stop
	retiring bool            // stopped to make room; the supervisor's, under its mu
	nudge    chan struct{}   // has room for one: the line is waiting

	gone chan struct{} // closed when the server that polled is closed

	// turn is held by whoever settles the run in this lane: the handler, or the
	// lane itself for the sweep. It guards what follows.
	turn          sync.Mutex
	ended         bool
	settledTicket int64     // the highest that this lane knows to be settled
	lastActive    time.Time // when a task was last handled
	lastServed    time.Time // when a task last had something settled
}

// live serves the queue until nothing has come for a while, stop is called, or
// ctx is cancelled because the lane's lock is lost. When it returns, nothing of
// this lane settles any more; the server that polled is closed in the
// background, after which gone is closed.
func (l *lane) live(ctx context.Context) {
	l.lastActive, l.lastServed = time.Now(), time.Now()
	if l.by == bySweep { // the line has been waiting: settle before serving
		l.turn.Lock()
		_ = l.settleUpTo(ctx, 0, bySweep) // an error says that the lane ends, which serve sees
		l.turn.Unlock()
	}
	server := asynq.NewServerFromRedisClient(l.redis, asynq.Config{
		Queues:                   map[string]int{QueueName(l.slug): 1},
		Concurrency:              1,
		TaskCheckInterval:        l.poll,
		ShutdownTimeout:          handBack,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 0 },
		DelayedTaskCheckInterval: comeBack(l.idle, l.poll),
		Logger:                   taskqueue.Log{Log: l.log.With("from", "asynq", "run", l.slug)},
		LogLevel:                 asynq.WarnLevel,
	})
	handler := func(task context.Context, t *asynq.Task) error {
		// Not the server's BaseContext: its end would make Asynq send the task
		// to the back of the queue, as a failure.
		both, cancel := context.WithCancel(task)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		err := l.handle(both, t)
		if errors.Is(err, errEnded) {
			// The lane has ended, and its lock may be another worker's by now.
			// The server soon gives up on this handler and puts the task back to
			// the head of the queue, which returning an error would not do.
			select {
			case <-l.gone:
			case <-task.Done(): // Asynq gave up on it by itself: its lease is lost
			}
		}
		crashpoint.Here(crashpoint.TaskServed)
		return err
	}
	if err := server.Start(asynq.HandlerFunc(handler)); err != nil {
		l.log.Error("a lane's server does not start", "run", l.slug, "error", err)
	}
	l.serve(ctx)

	// Waits for the transaction under way; a handler that comes later finds
	// that the lane has ended.
	l.turn.Lock()
	l.ended = true
	l.turn.Unlock()
	l.closing.Go(func() {
		server.Shutdown() // takes long when Redis hangs
		close(l.gone)
	})
}

// comeBack is after how long a lane's server looks for what a killed worker left
// and Asynq has given up on: once in the life of a lane without work, and so that a
// poll comes after it, which may take half as long again as it should.
func comeBack(idle, poll time.Duration) time.Duration {
	return max(min(idle*2/3, idle-poll*3/2), idle/3)
}

// serve returns when the lane has to end.
func (l *lane) serve(ctx context.Context) {
	idle := time.NewTimer(l.idle)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.stopped:
			return
		case <-l.nudge:
			// Who holds the turn is settling the line already, and where tasks
			// have just moved it the next ones are on their way. Tasks that find
			// nothing to do do not count: a new one may stand behind many.
			if l.turn.TryLock() {
				if time.Since(l.lastServed) >= waitingAge {
					_ = l.settleUpTo(ctx, 0, bySweep) // an error says that the lane ends
				}
				l.turn.Unlock()
			}
		case <-idle.C:
			if !l.turn.TryLock() {
				idle.Reset(l.idle)
				continue
			}
			rest := l.idle - time.Since(l.lastActive)
			l.turn.Unlock()
			if rest <= 0 {
				return
			}
			idle.Reset(rest)
		}
	}
}

// handle settles the line up to the bundle's last ticket, or returns errEnded.
func (l *lane) handle(ctx context.Context, t *asynq.Task) error {
	p, err := parseTask(t)
	if err == nil && p.RunID != l.run {
		err = fmt.Errorf("reading a task: it is for run %d", p.RunID)
	}
	if err != nil {
		l.log.Error("a task that is not ours stands on a run's queue: archived", "run", l.slug, "error", err)
		return fmt.Errorf("%w: %w", asynq.SkipRetry, err)
	}
	return l.serveBundle(ctx, p.Last)
}

// serveBundle settles up to ticket last, or returns errEnded. A bundle that is
// settled costs nothing.
func (l *lane) serveBundle(ctx context.Context, last int64) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.ended {
		return errEnded
	}
	defer func() { l.lastActive = time.Now() }()
	if l.settledTicket >= last {
		return nil
	}
	defer func() { l.lastServed = time.Now() }()
	return l.settleUpTo(ctx, last, byTask)
}

// settleUpTo settles until ticket last is settled or the line is drained; last 0
// means until it is drained. Passing errors are tried again here, so that the
// head of the line blocks and order holds. It returns errEnded if the lane has
// to end before. The caller holds the turn.
func (l *lane) settleUpTo(ctx context.Context, last int64, by string) error {
	var wait backoff
	for {
		p, err := l.settle(ctx, l.run, by)
		switch {
		case err == nil:
			l.settledTicket = max(l.settledTicket, p.Last)
			if last > 0 && p.Last >= last || !p.More {
				return nil
			}
			wait = backoff{}
			crashpoint.Here(crashpoint.SettleMore)
		case ctx.Err() != nil:
			return errEnded
		case !errors.Is(err, errElsewhere):
			l.log.Error("settling failed: the line waits and it is tried again", "run", l.slug, "error", err)
		}
		select {
		case <-l.stopped:
			return errEnded
		case <-ctx.Done():
			return errEnded
		case <-wait.next(err):
		}
	}
}

// backoff spaces tries out, from 2 ms (somebody else is just settling) or 50 ms
// (an error) up to a second.
type backoff struct{ last time.Duration }

// closedTime is a timer that has fired.
var closedTime = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

func (b *backoff) next(err error) <-chan time.Time {
	least := 50 * time.Millisecond
	switch {
	case err == nil:
		return closedTime
	case errors.Is(err, errElsewhere):
		least = 2 * time.Millisecond
	}
	b.last = min(max(2*b.last, least), time.Second)
	return time.After(b.last)
}
