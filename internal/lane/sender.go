package lane

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/gather"
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
	waiting chan enroll.Bundle
	outage  *outage.Log
	bundles *prometheus.CounterVec
	tasks   *taskqueue.Client
}

// NewSender returns a sender whose every call to Redis ends within timeout. Run
// must be running for it to send.
func NewSender(c redis.UniversalClient, timeout time.Duration, log *slog.Logger, reg prometheus.Registerer) *Sender {
	s := &Sender{redis: c, timeout: timeout, waiting: make(chan enroll.Bundle, bundlesKept), tasks: taskqueue.NewClient(c)}
	s.outage = outage.New(log, slog.LevelWarn, "bundles are not enqueued: the sweep settles them")
	s.bundles = promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "lastseat_bundles_total",
		Help: "Bundles that were to be enqueued, by result: sent, failed (Redis refused or did not answer), dropped (too many waited).",
	}, []string{"result"})
	return s
}

// Ring enqueues a task for the bundle and wakes the workers, soon. It never
// blocks.
func (s *Sender) Ring(b enroll.Bundle) {
	select {
	case s.waiting <- b:
	default:
		s.bundles.WithLabelValues("dropped").Inc()
	}
}

// Run sends until ctx ends, then what is still waiting, as long as Redis
// answers.
func (s *Sender) Run(ctx context.Context) error {
	var g errgroup.Group
	for range sendersAtOnce {
		g.Go(func() error {
			for one := range gather.Each(ctx, s.waiting, 1) {
				if !s.deliver(ctx, one[0]) && ctx.Err() != nil {
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
	s.outage.Worked()
	s.bundles.WithLabelValues("sent").Inc()
	return true
}

func (s *Sender) send(ctx context.Context, b enroll.Bundle) error {
	crashpoint.Here(crashpoint.RingBegun)
	task, options := newTask(b)
	err := s.tasks.Enqueue(ctx, task, options...)
	crashpoint.Here(crashpoint.RingEnqueued)
	// Even if there is no task, as with a Redis that is full: the lane's sweep
	// settles the line a second later.
	return errors.Join(err, pubsub.PublishWake(ctx, s.redis, pubsub.Wake{RunID: b.RunID, Run: b.Run}))
}
