package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/ops"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/taskqueue"
	"github.com/lastseat/lastseat/internal/waitlist"
)

// serve runs the worker until ctx ends.
func serve(ctx context.Context, c config.Config, log *slog.Logger) error {
	options := postgres.Options{
		Name:                     "worker",
		MaxConns:                 int(c.Postgres.MaxConns),
		ConnectTimeout:           c.Postgres.ConnectTimeout,
		StatementTimeout:         c.Postgres.StatementTimeout,
		LockTimeout:              c.Postgres.LockTimeout,
		IdleInTransactionTimeout: c.Postgres.IdleInTransactionTimeout,
		Unprepared:               !c.Postgres.PreparedStatements,
	}
	store, err := postgres.Open(ctx, string(c.Postgres.URL), options)
	if err != nil {
		return fmt.Errorf("postgres.url: %w", err)
	}
	defer store.Close()
	if err := errors.Join(store.RefuseMisfit(ctx), postgres.RefuseMisfitLocks(ctx, string(c.Postgres.LockURL), options)); err != nil {
		return err
	}
	taskqueue.LogRedis(log)
	redis, err := taskqueue.ParseRedis(string(c.Redis.URL), c.Redis.Timeout)
	if err != nil {
		return fmt.Errorf("redis.url: %w", err)
	}
	messages := redis.Open()
	defer messages.Close()
	queues := redis.OpenForServers()
	defer queues.Close()
	send, quit, err := newSend(c)
	if err != nil {
		return err
	}
	defer quit()

	reg := ops.NewRegistry()
	metrics := lane.NewMetrics(reg)
	announcer := pubsub.NewAnnouncer(messages)
	settler := lane.NewSettler(store, c.Settle.Committers, enroll.SettleLimits{Budget: c.Settle.Budget, LateAfter: c.Settle.LateAfter}, announcer.Announce, log, metrics)
	connect := func(ctx context.Context) (lane.Locks, error) {
		return postgres.ConnectLaneLocks(ctx, string(c.Postgres.LockURL), options, lane.IdleLocks)
	}
	supervisor := lane.NewSupervisor(connect, store, settler, queues, messages, lane.Options{
		MaxLanes:         c.Worker.MaxLanes,
		LaneIdle:         c.Worker.LaneIdle,
		PollBudget:       c.Worker.PollBudget,
		SweepInterval:    c.Worker.SweepInterval,
		SweepAllInterval: c.Worker.SweepAllInterval,
		ShutdownTimeout:  c.Worker.ShutdownTimeout,
	}, log, metrics)
	sender := lane.NewSender(messages, c.Redis.Timeout, lane.WakeInterval(c.Worker.LaneIdle), log, reg)
	common := mailqueue.NewCommon(store, mailqueue.Options{
		Server:          c.Mail.Server,
		Concurrency:     c.Mail.Concurrency,
		PerSecond:       c.Mail.PerSecond,
		SendTimeout:     c.Mail.ConnectTimeout + c.Mail.SendTimeout,
		RetryMin:        c.Mail.RetryMin,
		RetryMax:        c.Mail.RetryMax,
		GiveUpAfter:     c.Mail.GiveUpAfter,
		RemindBefore:    c.Mail.RemindBefore,
		ChangeWindow:    c.Mail.ChangeWindow,
		Pace:            c.Mail.Pace,
		Interval:        c.Worker.SweepInterval,
		ShutdownTimeout: c.Worker.ShutdownTimeout,
	}, log, reg)
	relay, deliverer := mailqueue.NewRelay(common, messages), mailqueue.NewDeliverer(common, queues, send)
	admin := ops.NewAdmin(reg, log,
		ops.Check{Name: "postgres", Ask: store.Ready},
		ops.Check{Name: "lane locks", Ask: supervisor.Ready})
	defer admin.ShowQueues(redis.Open)()

	back, err := net.Listen("tcp", c.Worker.AdminListen)
	if err != nil {
		return fmt.Errorf("worker.admin_listen: %w", err)
	}
	warnOfMail(c, log)
	log.Info("listening", "admin", back.Addr().String())

	// The parts stop from front to back: lanes end, settlements under way are
	// committed, and committed ones are announced.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	settling, stopSettling := context.WithCancel(context.WithoutCancel(ctx))
	announcing, stopAnnouncing := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		log.Info("stopping")
		admin.Stopping()
	})
	var g errgroup.Group
	g.Go(func() error {
		defer stop()
		defer stopSettling()
		return supervisor.Run(ctx)
	})
	g.Go(func() error {
		defer stopAnnouncing()
		return settler.Run(settling)
	})
	g.Go(func() error { return announcer.Run(announcing) })
	g.Go(func() error { return sender.Run(ctx) })
	g.Go(func() error {
		return waitlist.Run(ctx, store, c.Worker.SweepInterval, sender.Notify, log)
	})
	g.Go(func() error { return relay.Run(ctx) })
	g.Go(func() error {
		defer stop()
		return deliverer.Run(ctx)
	})
	g.Go(func() error {
		defer stop()
		return ops.ServeAdmin(announcing, back, admin, c.Worker.AdminListen, c.Worker.AdminHosts)
	})
	err = g.Wait()
	log.Info("stopped")
	return err
}
