package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/taskqueue"
)

const (
	sendersAtOnce = 8 // enqueues on their way to Redis: many runs at once are bound by round trips
	bundlesKept   = 4096
)

// Sender rings for bundles, outside of everybody's wait. It may fail or drop:
// the sweep finds the line.
type Sender struct {
	redis   redis.UniversalClient
	timeout time.Duration
	hush    time.Duration
	outage  *outage.Log
	bundles *prometheus.CounterVec
	tasks   *taskqueue.Client

	waiting chan enroll.RunID // runs of which a bundle is pending

	mu      sync.Mutex
	pending map[enroll.RunID]enroll.Bundle
	woken   map[enroll.RunID]time.Time // when the workers were last woken for a run
}

// NewSender returns a sender whose every call to Redis ends within timeout. It
// wakes the workers for one run only once in hush, which must be well below the
// time that lanes stay alive without work: until then, the lane that was woken
// finds the task by itself. Run must be running for it to send.
func NewSender(c redis.UniversalClient, timeout, hush time.Duration, log *slog.Logger, reg prometheus.Registerer) *Sender {
	s := &Sender{
		redis: c, timeout: timeout, hush: hush, tasks: taskqueue.NewClient(c),
		waiting: make(chan enroll.RunID, bundlesKept), pending: make(map[enroll.RunID]enroll.Bundle), woken: make(map[enroll.RunID]time.Time),
	}
	s.outage = outage.New(log, slog.LevelWarn, "bundles are not enqueued: the sweep settles them",
		"bundles reach their queues again")
	s.bundles = promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "lastseat_bundles_total",
		Help: "Bundles that were to be enqueued, by result: sent, failed (Redis refused or did not answer), dropped (too many waited), joined (one of the same run was waiting).",
	}, []string{"result"})
	return s
}

// Hush returns for how long a wake-up is good where lanes stay alive so long
// without work.
func Hush(laneIdle time.Duration) time.Duration { return min(laneIdle/4, 100*time.Millisecond) }

// Notify enqueues a task for the bundle and wakes the workers, soon. It never
// blocks. A bundle whose run has one waiting already joins that: while Redis is
// slow, there are fewer tasks and not a longer queue of them.
func (s *Sender) Notify(b enroll.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, is := s.pending[b.RunID]; is {
		p.First, p.Last = min(p.First, b.First), max(p.Last, b.Last)
		s.pending[b.RunID] = p
		s.bundles.WithLabelValues("joined").Inc()
		return
	}
	select {
	case s.waiting <- b.RunID:
		s.pending[b.RunID] = b
	default:
		s.bundles.WithLabelValues("dropped").Inc()
	}
}

// take takes the bundle of a run that was waiting.
func (s *Sender) take(run enroll.RunID) enroll.Bundle {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.pending[run]
	delete(s.pending, run)
	return b
}

// Run sends until ctx ends, then what is still waiting, as long as Redis
// answers.
func (s *Sender) Run(ctx context.Context) error {
	var g errgroup.Group
	for range sendersAtOnce {
		g.Go(func() error {
			for run := range batch.Each(ctx, s.waiting, 1) {
				if !s.deliver(ctx, s.take(run[0])) && ctx.Err() != nil {
					break // Redis is away, and the sweep finds the rest
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// deliver tells whether it succeeded, and notes if not.
func (s *Sender) deliver(ctx context.Context, b enroll.Bundle) bool {
	// Outlives ctx: the requests are accepted, whoever is stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	if err := s.send(ctx, b); err != nil {
		s.bundles.WithLabelValues("failed").Inc()
		s.outage.Failed(err, "run", b.Run, "first_ticket", b.First, "last_ticket", b.Last)
		return false
	}
	s.outage.Recovered()
	s.bundles.WithLabelValues("sent").Inc()
	return true
}

func (s *Sender) send(ctx context.Context, b enroll.Bundle) error {
	crashpoint.Here(crashpoint.NotifyBegun)
	task, options := newTask(b)
	err := s.tasks.Enqueue(ctx, task, options...)
	crashpoint.Here(crashpoint.NotifyEnqueued)
	// Even if there is no task, as with a Redis that is full: the lane's sweep
	// settles the line a second later.
	return errors.Join(err, s.wake(ctx, b))
}

// wokenMost bounds what is remembered of who was woken.
const wokenMost = 10_000

// wake wakes the workers for the run, unless they were a moment ago.
func (s *Sender) wake(ctx context.Context, b enroll.Bundle) error {
	now := time.Now()
	s.mu.Lock()
	quiet := now.Sub(s.woken[b.RunID]) < s.hush
	s.mu.Unlock()
	if quiet {
		return nil
	}
	heard, err := pubsub.PublishWake(ctx, s.redis, pubsub.Wake{RunID: b.RunID, Run: b.Run})
	if !heard || err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.woken[b.RunID]; !known && len(s.woken) >= wokenMost {
		clear(s.woken) // which costs a few wake-ups
	}
	s.woken[b.RunID] = now
	return nil
}
