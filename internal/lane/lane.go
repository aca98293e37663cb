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

// putBackAfter is how long the server of an ended lane waits before it puts a
// task that it has just taken back to the head of the queue. Nothing is being
// settled by then.
const putBackAfter = 100 * time.Millisecond

var errEnded = errors.New("the lane has ended")

// lane serves the queue of one run.
type lane struct {
	runID     enroll.RunID
	slug      string
	startedBy string // byWake, bySweep or byLeftover
	startedAt time.Time
	idle      time.Duration // without work for this long, the lane ends
	poll      time.Duration
	redis     redis.UniversalClient
	settle    func(ctx context.Context, run enroll.RunID, by string) (enroll.Progress, error)
	log       *slog.Logger
	servers   *sync.WaitGroup // counts the servers that are being closed

	ctx      context.Context // ends when the lane's lock is lost
	cancel   func()          // ends ctx
	stopped  <-chan struct{} // closed by stop, and when ctx ends
	stop     func()          // finish the transaction under way, then end
	retiring bool            // stopped for a line that waits for capacity; guarded by the table's mutex
	nudge    chan struct{}   // has room for one: the line has been waiting

	serverClosed chan struct{}

	// settleMu is held by the goroutine that settles the run in this lane: the
	// handler, or the lane itself for the sweep. It guards the fields that follow.
	settleMu      sync.Mutex
	ended         bool
	settledTicket int64     // the highest that this lane knows to be settled
	lastTask      time.Time // when a task was last handled
	lastSettling  time.Time // when a task last had something settled
}

// run serves the queue until nothing has come for a while, stop is called, or
// the lane's lock is lost. When it returns, this lane settles nothing any more.
// Its server is closed in the background.
func (l *lane) run() {
	l.lastTask, l.lastSettling = time.Now(), time.Now()
	if l.startedBy == bySweep { // the line has been waiting: settle before serving
		l.settleMu.Lock()
		_ = l.settleUpTo(l.ctx, 0, bySweep) // an error says that the lane ends, which serve sees
		l.settleMu.Unlock()
	}
	server := l.newServer()
	if err := server.Start(asynq.HandlerFunc(l.handle)); err != nil {
		l.log.Error("the server of a lane did not start", "run", l.slug, "error", err)
	}
	l.serve()

	// Waits for the transaction under way. A handler that comes later finds that
	// the lane has ended.
	l.settleMu.Lock()
	l.ended = true
	l.settleMu.Unlock()
	l.servers.Go(func() {
		server.Shutdown() // takes long when Redis hangs
		close(l.serverClosed)
	})
}

// newServer returns an Asynq server that takes the run's tasks one at a time.
func (l *lane) newServer() *asynq.Server {
	return asynq.NewServerFromRedisClient(l.redis, asynq.Config{
		Queues:                   map[string]int{QueueName(l.slug): 1},
		Concurrency:              1,
		TaskCheckInterval:        l.poll,
		ShutdownTimeout:          putBackAfter,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 0 },
		DelayedTaskCheckInterval: recoverInterval(l.idle, l.poll),
		Logger:                   taskqueue.Log{Log: l.log.With("from", "asynq", "run", l.slug)},
		LogLevel:                 asynq.WarnLevel,
	})
}

// recoverInterval is after how long a lane's server looks for tasks that a
// killed worker left and Asynq has given up on. It does so once in the life of
// a lane without work, early enough for a poll to follow, which may come half
// as late again as it should.
func recoverInterval(idle, poll time.Duration) time.Duration {
	return max(min(idle*2/3, idle-poll*3/2), idle/3)
}

// serve returns when the lane has to end.
func (l *lane) serve() {
	idle := time.NewTimer(l.idle)
	defer idle.Stop()
	for {
		select {
		case <-l.stopped:
			return
		case <-l.nudge:
			l.settleWaiting()
		case <-idle.C:
			rest := l.untilIdle()
			if rest <= 0 {
				return
			}
			idle.Reset(rest)
		}
	}
}

// settleWaiting settles the line because it has been waiting. It does nothing
// while the line is being settled, or if tasks have just moved it: the next
// ones are on their way. Tasks that had nothing to settle do not count, since a
// new one may stand behind many of them.
func (l *lane) settleWaiting() {
	if !l.settleMu.TryLock() {
		return
	}
	defer l.settleMu.Unlock()
	if time.Since(l.lastSettling) >= waitingAge {
		_ = l.settleUpTo(l.ctx, 0, bySweep) // an error says that the lane ends
	}
}

// untilIdle returns for how long the lane has to live at least.
func (l *lane) untilIdle() time.Duration {
	if !l.settleMu.TryLock() {
		return l.idle
	}
	defer l.settleMu.Unlock()
	return l.idle - time.Since(l.lastTask)
}

// handle serves a task. A task that comes when the lane has ended is put back.
func (l *lane) handle(task context.Context, t *asynq.Task) error {
	// Not the server's BaseContext: its end would make Asynq send the task to the
	// back of the queue, as a failure.
	ctx, cancel := context.WithCancel(task)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	err := l.serveTask(ctx, t)
	if errors.Is(err, errEnded) {
		// Another worker may have the lock by now. The server soon gives up on this
		// handler and puts the task back to the head of the queue, which returning
		// an error would not do.
		select {
		case <-l.serverClosed:
		case <-task.Done(): // Asynq has given up by itself: the task's lease is lost
		}
	}
	crashpoint.Here(crashpoint.TaskServed)
	return err
}

// serveTask settles the line up to the last ticket of the task's bundle, or
// returns errEnded.
func (l *lane) serveTask(ctx context.Context, t *asynq.Task) error {
	p, err := parseTask(t)
	if err == nil && p.RunID != l.runID {
		err = fmt.Errorf("reading a task: it is for run %d", p.RunID)
	}
	if err != nil {
		l.log.Error("a task on a run's queue is not valid: it is archived", "run", l.slug, "error", err)
		return fmt.Errorf("%w: %w", asynq.SkipRetry, err)
	}
	return l.serveBundle(ctx, p.Last)
}

// serveBundle settles up to ticket last, or returns errEnded. A bundle that is
// settled already costs nothing.
func (l *lane) serveBundle(ctx context.Context, last int64) error {
	l.settleMu.Lock()
	defer l.settleMu.Unlock()
	if l.ended {
		return errEnded
	}
	defer func() { l.lastTask = time.Now() }()
	if l.settledTicket >= last {
		return nil
	}
	defer func() { l.lastSettling = time.Now() }()
	return l.settleUpTo(ctx, last, byTask)
}

// settleUpTo settles until ticket last is settled or the line is drained; last
// 0 means until it is drained. It tries again after passing errors, so that the
// next request blocks those behind it and order holds. It returns errEnded if
// the lane has to end first. The caller holds settleMu.
func (l *lane) settleUpTo(ctx context.Context, last int64, by string) error {
	var wait backoff
	for {
		p, err := l.settle(ctx, l.runID, by)
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
			l.log.Error("a line could not be settled: it waits and will be tried again", "run", l.slug, "error", err)
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
