package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
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

// server is the API and what it works with.
type server struct {
	config config.Config
	log    *slog.Logger
	close  []func() // in the order of opening

	ledger, store, keyStore *postgres.Store
	redis                   taskqueue.Redis
	messages                redis.UniversalClient
	limits                  limits

	sender    *lane.Sender
	intake    *intake.Intake
	watch     *watch.Watch
	keys      *keyring.Keyring
	announcer *pubsub.Announcer
	refused   prometheus.Counter
	api       http.Handler
	admin     *ops.Admin
}

// serve runs the API until ctx ends.
func serve(ctx context.Context, c config.Config, log *slog.Logger) error {
	s := &server{config: c, log: log}
	defer func() {
		for _, f := range slices.Backward(s.close) {
			f()
		}
	}()
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := s.assemble(); err != nil {
		return err
	}
	public, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return fmt.Errorf("api.listen: %w", err)
	}
	admin, err := net.Listen("tcp", c.API.AdminListen)
	if err != nil {
		return fmt.Errorf("api.admin_listen: %w", err)
	}
	log.Info("listening", "api", public.Addr().String(), "admin", admin.Addr().String())
	return s.run(ctx, public, admin)
}

// open opens the connections.
func (s *server) open(ctx context.Context) error {
	c := s.config
	for _, pool := range []struct {
		store       **postgres.Store
		connections int
	}{
		// Accepting and the keyring have connections of their own, so a crowd of readers
		// can take neither, nor keep organisers out.
		{&s.ledger, c.Intake.Committers},
		{&s.store, int(c.Postgres.MaxConns)},
		{&s.keyStore, keyConnections},
	} {
		store, err := postgres.Open(ctx, string(c.Postgres.URL), options(c, pool.connections))
		if err != nil {
			return fmt.Errorf("postgres.url: %w", err)
		}
		*pool.store, s.close = store, append(s.close, store.Close)
	}
	if err := s.store.RefuseMisfit(ctx); err != nil {
		return err
	}
	taskqueue.LogRedis(s.log)
	var err error
	if s.redis, err = taskqueue.ParseRedis(string(c.Redis.URL), c.Redis.Timeout); err != nil {
		return fmt.Errorf("redis.url: %w", err)
	}
	if s.limits, err = findLimits(c, s.redis, s.log); err != nil {
		return err
	}
	s.messages = s.redis.Open()
	s.close = append(s.close, func() { _ = s.messages.Close() })
	return nil
}

// assemble makes the parts, which run does not start yet.
func (s *server) assemble() error {
	c, reg := s.config, ops.NewRegistry()
	s.sender = lane.NewSender(s.messages, c.Redis.Timeout, lane.WakeInterval(c.Worker.LaneIdle), s.log, reg)
	s.intake = intake.New(s.ledger, intake.Options{
		Committers:    c.Intake.Committers,
		Waiting:       c.Intake.Waiting,
		Batch:         c.Intake.Batch,
		CommitTimeout: c.Intake.CommitTimeout,
	}, s.sender.Notify, s.log, reg)
	s.watch = watch.New(s.store, watch.Limits{Total: s.limits.polls, PerRegistration: c.API.MaxPolls}, s.log)
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lastseat_people_waiting",
		Help: "Polls that are held until their registration changes.",
	}, func() float64 { return float64(s.watch.Waiting()) })
	s.refused = promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "lastseat_connections_refused_total",
		Help: "Connections that were answered 503 because too many were open.",
	})
	s.announcer = pubsub.NewAnnouncer(s.messages)
	s.keys = keyring.New(s.keyStore, s.log)
	from, err := mail.ParseAddress(c.Mail.From)
	if err != nil {
		return fmt.Errorf("mail.from: %w", err)
	}
	s.api, err = httpapi.New(httpapi.Ports{
		Catalogue: s.store, Intake: s.intake, Watch: s.watch, Outbox: s.store, Line: s.store,
		Keyring: s.keys, Accounts: s.store, Audit: s.store, Editor: s.store,
	}, httpapi.Options{
		PublicURL:    c.API.PublicURL,
		MaxBodyBytes: c.API.MaxBodyBytes,
		MaxWait:      c.API.MaxWait,
		Organiser:    calendar.Organiser(*from),
		Corrected: func(run enroll.RunID, ticket int64) {
			s.announcer.Announce(pubsub.Settled{RunID: run, First: ticket, Last: ticket})
		},
	}, s.log, reg)
	if err != nil {
		return err
	}
	s.admin = ops.NewAdmin(reg, s.log, ops.Check{Name: "postgres", Ask: s.store.Ready})
	s.close = append(s.close, s.admin.ShowQueues(s.redis.Open))
	return nil
}

// run serves until ctx ends. The parts stop from front to back: /readyz turns 503,
// the listener closes, requests in flight get their answers, waiting requests are
// committed, and committed bundles are enqueued.
func (s *server) run(ctx context.Context, public, admin net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	committing, stopCommitting := context.WithCancel(context.WithoutCancel(ctx))
	notifying, stopNotifying := context.WithCancel(context.WithoutCancel(ctx))
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error {
		defer stop()
		defer stopCommitting()
		return s.servePublic(ctx, public)
	})
	g.Go(func() error {
		defer stopNotifying()
		return s.intake.Run(committing)
	})
	g.Go(func() error {
		defer stopListening()
		return s.sender.Run(notifying)
	})
	g.Go(func() error { return s.watch.Run(listening) })
	g.Go(func() error { return s.keys.Run(listening) })
	g.Go(func() error { return s.announcer.Run(listening) })
	g.Go(func() error {
		settled := func(m pubsub.Settled) { s.watch.Settled(m.RunID, m.First, m.Last) }
		return pubsub.ListenSettled(listening, s.messages, s.log, s.watch.RefreshAll, settled)
	})
	g.Go(func() error {
		defer stop()
		return ops.ServeAdmin(listening, admin, s.admin, s.config.API.AdminListen, s.config.API.AdminHosts)
	})
	err := g.Wait()
	s.log.Info("stopped")
	return err
}

func (s *server) servePublic(ctx context.Context, listener net.Listener) error {
	c := s.config
	httpServer := &http.Server{
		Handler:           s.api,
		ReadHeaderTimeout: c.API.ReadHeaderTimeout,
		ReadTimeout:       c.API.ReadTimeout,
		WriteTimeout:      c.API.MaxWait + 2*c.Intake.CommitTimeout + 10*time.Second, // a POST waits for two commits
		IdleTimeout:       c.API.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return httpserver.Serve(ctx, listener, httpServer, httpserver.Options{
		Connections: s.limits.connections,
		Refused:     s.refused.Inc,
		Stopping: func() {
			s.log.Info("stopping", "serving_for", c.API.ShutdownDelay)
			s.admin.Stopping()
			s.watch.End()
		},
		Delay: c.API.ShutdownDelay,
		Grace: c.API.ShutdownTimeout,
	})
}
