package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/httpapi"
	"github.com/lastseat/lastseat/internal/httpserver"
	"github.com/lastseat/lastseat/internal/intake"
	"github.com/lastseat/lastseat/internal/keyring"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/ops"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/watch"
)

// serve runs the API until ctx ends.
func serve(ctx context.Context, c config.Config, log *slog.Logger) error {
	// Accepting has its own connections, so a crowd of readers cannot take
	// them.
	ledger, err := postgres.Open(ctx, string(c.Postgres.URL), options(c, c.Intake.Committers))
	if err != nil {
		return fmt.Errorf("postgres.url: %w", err)
	}
	defer ledger.Close()
	store, err := postgres.Open(ctx, string(c.Postgres.URL), options(c, int(c.Postgres.MaxConns)))
	if err != nil {
		return fmt.Errorf("postgres.url: %w", err)
	}
	defer store.Close()
	if err := store.RefuseMisfit(ctx); err != nil {
		return err
	}
	// So has the keyring, or a crowd of readers could keep organisers out.
	keyStore, err := postgres.Open(ctx, string(c.Postgres.URL), options(c, keyConnections))
	if err != nil {
		return fmt.Errorf("postgres.url: %w", err)
	}
	defer keyStore.Close()
	taskqueue.LogRedis(log)
	redis, err := taskqueue.ParseRedis(string(c.Redis.URL), c.Redis.Timeout)
	if err != nil {
		return fmt.Errorf("redis.url: %w", err)
	}
	limits, err := findLimits(c, redis, log)
	if err != nil {
		return err
	}
	messages := redis.Open()
	defer messages.Close()

	reg := ops.NewRegistry()
	sender := lane.NewSender(messages, c.Redis.Timeout, lane.WakeInterval(c.Worker.LaneIdle), log, reg)
	in := intake.New(ledger, intake.Options{
		Committers:    c.Intake.Committers,
		Waiting:       c.Intake.Waiting,
		Batch:         c.Intake.Batch,
		CommitTimeout: c.Intake.CommitTimeout,
	}, sender.Notify, log, reg)
	w := watch.New(store, watch.Limits{Total: limits.polls, PerRegistration: c.API.MaxPolls}, log)
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lastseat_people_waiting",
		Help: "Polls that are held until their registration changes.",
	}, func() float64 { return float64(w.Waiting()) })
	refused := promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "lastseat_connections_refused_total",
		Help: "Connections that were answered 503 because too many were open.",
	})
	from, err := mail.ParseAddress(c.Mail.From)
	if err != nil {
		return fmt.Errorf("mail.from: %w", err)
	}
	announcer := pubsub.NewAnnouncer(messages)
	keys := keyring.New(keyStore, log)
	ports := httpapi.Ports{Catalogue: store, Intake: in, Watch: w, Outbox: store, Line: store, Keyring: keys, Accounts: store, Audit: store, Editor: store}
	api, err := httpapi.New(ports, httpapi.Options{
		PublicURL:    c.API.PublicURL,
		MaxBodyBytes: c.API.MaxBodyBytes,
		MaxWait:      c.API.MaxWait,
		Organiser:    calendar.Organiser(*from),
		Corrected: func(run enroll.RunID, ticket int64) {
			announcer.Announce(pubsub.Settled{RunID: run, First: ticket, Last: ticket})
		},
	}, log, reg)
	if err != nil {
		return err
	}
	admin := ops.NewAdmin(reg, log, ops.Check{Name: "postgres", Ask: store.Ready})
	defer admin.ShowQueues(redis.Open)()

	door, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return fmt.Errorf("api.listen: %w", err)
	}
	back, err := net.Listen("tcp", c.API.AdminListen)
	if err != nil {
		return fmt.Errorf("api.admin_listen: %w", err)
	}
	log.Info("listening", "api", door.Addr().String(), "admin", back.Addr().String())

	// The parts stop from front to back: /readyz turns 503, the listener
	// closes, requests in flight get their answers, waiting requests are
	// committed, and committed bundles are enqueued.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	committing, stopCommitting := context.WithCancel(context.WithoutCancel(ctx))
	notifying, stopNotifying := context.WithCancel(context.WithoutCancel(ctx))
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error {
		defer stop()
		defer stopCommitting()
		server := &http.Server{
			Handler:           api,
			ReadHeaderTimeout: c.API.ReadHeaderTimeout,
			ReadTimeout:       c.API.ReadTimeout,
			WriteTimeout:      c.API.MaxWait + 2*c.Intake.CommitTimeout + 10*time.Second, // a POST waits for two commits
			IdleTimeout:       c.API.IdleTimeout,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		return httpserver.Serve(ctx, door, server, httpserver.Options{
			Connections: limits.connections,
			Refused:     refused.Inc,
			Stopping: func() {
				log.Info("stopping", "serving_for", c.API.ShutdownDelay)
				admin.Stopping()
				w.End()
			},
			Delay: c.API.ShutdownDelay,
			Grace: c.API.ShutdownTimeout,
		})
	})
	g.Go(func() error {
		defer stopNotifying()
		return in.Run(committing)
	})
	g.Go(func() error {
		defer stopListening()
		return sender.Run(notifying)
	})
	g.Go(func() error { return w.Run(listening) })
	g.Go(func() error { return keys.Run(listening) })
	g.Go(func() error { return announcer.Run(listening) })
	g.Go(func() error {
		return pubsub.ListenSettled(listening, messages, log, w.RefreshAll, func(s pubsub.Settled) { w.Settled(s.RunID, s.First, s.Last) })
	})
	g.Go(func() error {
		defer stop()
		return ops.ServeAdmin(listening, back, admin, c.API.AdminListen, c.API.AdminHosts)
	})
	err = g.Wait()
	log.Info("stopped")
	return err
}
