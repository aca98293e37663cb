package main

import (
	"fmt"
	"log/slog"
	"syscall"

	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/httpserver"
	"github.com/lastseat/lastseat/internal/ops"
	"github.com/lastseat/lastseat/internal/taskqueue"
)

// limits are how many connections the API keeps open for people, and how many of
// them may hold a poll. The others are for requests that are answered at once.
type limits struct{ connections, polls int }

// keyConnections are the connections to Postgres by which tokens are checked.
const keyConnections = 2

// findLimits returns the limits that the configuration asks for, or as much as
// the system's limit on open files allows.
func findLimits(c config.Config, redis taskqueue.Redis, log *slog.Logger) (limits, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return limits{}, fmt.Errorf("asking for the limit on open files: %w", err)
	}
	open := int(min(files.Cur, 1<<30)) // which may be "infinity"
	l, err := limitsFor(c, open, redis.PoolSize())
	if err != nil {
		return limits{}, err
	}
	log.Info("the connections are bounded", "connections", l.connections, "held_polls", l.polls,
		"max_connections", c.API.MaxConnections, "open_files", open)
	return l, nil
}

func limitsFor(c config.Config, files, redisPool int) (limits, error) {
	const (
		redisPools = 2  // that of messages and that of the queues' page
		others     = 64 // logs, listeners, subscriptions, and connections that are being closed
		least      = 16 // connections for people
		reserve    = 8  // one in so many never holds a poll
	)
	own := c.Intake.Committers + int(c.Postgres.MaxConns) + keyConnections + redisPools*redisPool + ops.AdminConnections + httpserver.Refusing + others
	if files < own+least {
		return limits{}, fmt.Errorf("the limit on open files (ulimit -n) is %d: with these settings the api needs %d or more", files, own+least)
	}
	connections := min(c.API.MaxConnections, files-own)
	return limits{connections, connections - (connections+reserve-1)/reserve}, nil
}
