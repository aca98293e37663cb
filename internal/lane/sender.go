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
	// sendersAtOnce is how many bundles are on their way to Redis at once: with
	// many runs, round trips are the limit.
	sendersAtOnce = 8

	// maxPending is for how many runs bundles may wait to be sent.
	maxPending = 4096

	// maxWoken is for how many runs it is remembered when workers were woken.
	maxWoken = 10_000
)

var errUnheard = errors.New("a wake-up reached no worker")

// Sender notifies the workers of new requests, outside of the time for which
// clients wait. It may fail or drop a bundle: the sweep finds the line.
type Sender struct {
	redis        redis.UniversalClient
	timeout      time.Duration
	wakeInterval time.Duration
	outage       *outage.Log
	unheard      *outage.Log
	bundles      *prometheus.CounterVec
	noWorker     prometheus.Counter
	tasks        *taskqueue.Client

	waiting chan enroll.RunID // runs that have a pending bundle

	mu      sync.Mutex
	pending map[enroll.RunID]enroll.Bundle
	woken   map[enroll.RunID]time.Time // when workers were last woken for a run
}

// NewSender returns a sender whose every call to Redis ends within timeout. It
// wakes the workers for one run at most once in wakeInterval: see WakeInterval.
// Run must be running for it to send.
func NewSender(c redis.UniversalClient, timeout, wakeInterval time.Duration, log *slog.Logger, reg prometheus.Registerer) *Sender {
	return &Sender{
		redis: c, timeout: timeout, wakeInterval: wakeInterval, tasks: taskqueue.NewClient(c),
		waiting: make(chan enroll.RunID, maxPending), pending: make(map[enroll.RunID]enroll.Bundle), woken: make(map[enroll.RunID]time.Time),
		outage: outage.New(log, slog.LevelWarn, "bundles cannot be enqueued: the sweep settles them",
			"bundles can be enqueued again"),
		unheard: outage.New(log, slog.LevelWarn, "no worker listens for new requests: start one, or their lines stand still",
			"a worker listens for new requests again"),
		noWorker: promauto.With(reg).NewCounter(prometheus.CounterOpts{
			Name: "lastseat_wakes_unheard_total",
			Help: "Wake-ups for which no worker was listening.",
		}),
		bundles: promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
			Name: "lastseat_bundles_total",
			Help: "Bundles for the queues of their runs, by result: sent, failed (Redis refused or did not answer), dropped (too many were waiting), joined (added to a waiting bundle of the same run).",
		}, []string{"result"}),
	}
}

// WakeInterval returns how long a wake-up suffices for a run if lanes without
// work end after laneIdle. It is well below that: within it, the lane that was
// woken is alive and finds the next task by itself.
func WakeInterval(laneIdle time.Duration) time.Duration {
	return min(laneIdle/4, 100*time.Millisecond)
}

// Notify enqueues a task for the bundle and wakes the workers, soon. It never
// blocks. A bundle joins the one that its run has waiting already: while Redis
// is slow, there are fewer tasks and no longer queue of them.
func (s *Sender) Notify(b enroll.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.pending[b.RunID]; ok {
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

// take returns the pending bundle of a run, which is not pending any more.
func (s *Sender) take(run enroll.RunID) enroll.Bundle {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.pending[run]
	delete(s.pending, run)
	return b
}

// Run sends until ctx ends, and then what is still waiting, as long as Redis
// answers.
func (s *Sender) Run(ctx context.Context) error {
	var g errgroup.Group
	for range sendersAtOnce {
		g.Go(func() error {
			for run := range batch.Each(ctx, s.waiting, 1) {
				if !s.deliver(ctx, s.take(run[0])) && ctx.Err() != nil {
					break // Redis is away, and the sweep finds the other lines
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// deliver sends the bundle, counts and logs how that went, and returns whether
// it was sent.
func (s *Sender) deliver(ctx context.Context, b enroll.Bundle) bool {
	// Not cancelled with ctx: the requests are accepted, even if this process is
	// stopping.
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
	// Workers are woken even if there is no task, as with a Redis that is full: a
	// second later the sweep nudges the lane, which settles the line.
	return errors.Join(err, s.wake(ctx, b))
}

// wake wakes the workers for the run, unless they were woken a moment ago.
func (s *Sender) wake(ctx context.Context, b enroll.Bundle) error {
	now := time.Now()
	s.mu.Lock()
	woken := now.Sub(s.woken[b.RunID]) < s.wakeInterval
	s.mu.Unlock()
	if woken {
		return nil
	}
	heard, err := pubsub.PublishWake(ctx, s.redis, pubsub.Wake{RunID: b.RunID, Run: b.Run})
	if err != nil {
		return err
	}
	if !heard {
		s.noWorker.Inc()
		s.unheard.Failed(errUnheard, "run", b.Run, "ticket", b.First)
		return nil
	}
	s.unheard.Recovered()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.woken[b.RunID]; !ok && len(s.woken) >= maxWoken {
		clear(s.woken) // which costs a few wake-ups
	}
	s.woken[b.RunID] = now
	return nil
}
