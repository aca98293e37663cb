package httpapi_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/testwait"
)

// startWorker runs a worker for the service, put together as cmd/worker does it,
// until the test ends, and returns when it is ready. It stops before the service.
func startWorker(t testing.TB, s *service) {
	t.Helper()
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	store := pgtest.Open(t, s.place.database)
	metrics := lane.NewMetrics(prometheus.NewRegistry())
	messages := openRedis(t, s.place.redis)
	queues := parseRedis(t, s.place.redis).OpenForServers()
	t.Cleanup(func() { _ = queues.Close() })
	announcer := pubsub.NewAnnouncer(messages)
	settler := lane.NewSettler(store, 2, enrolltest.SettleLimits(512), announcer.Announce, log, metrics)
	connect := func(ctx context.Context) (lane.Locks, error) {
		return postgres.ConnectLaneLocks(ctx, s.place.database, pgtest.Options, lane.IdleLocks)
	}
	supervisor := lane.NewSupervisor(connect, store, settler, queues, messages, lane.Options{
		MaxLanes:         50,
		LaneIdle:         time.Second,
		PollBudget:       1000,
		SweepInterval:    time.Second,
		SweepAllInterval: 10 * time.Second,
		ShutdownTimeout:  5 * time.Second,
	}, log, metrics)

	run(t, announcer.Run) // stops last
	run(t, settler.Run)
	run(t, supervisor.Run)
	testwait.Until(t, "the worker is ready and hears", func() bool {
		channels, err := messages.PubSubChannels(t.Context(), "*").Result()
		return err == nil && len(channels) == 2 && supervisor.Ready(t.Context()) == nil
	})
}

// openRedis returns a client as the processes make it, closed when the test
// ends.
func openRedis(t testing.TB, r *redistest.Server) redis.UniversalClient {
	t.Helper()
	c := parseRedis(t, r).Open()
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func parseRedis(t testing.TB, r *redistest.Server) taskqueue.Redis {
	t.Helper()
	parsed, err := taskqueue.ParseRedis(r.URL(), redisTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
