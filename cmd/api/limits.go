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

// limits are the most connections to the API at once, and the most of them that
// may hold a poll. The rest serves requests that are answered at once.
type limits struct{ connections, polls int }

// keyConnections are the connections to Postgres that check tokens.
const keyConnections = 2

// findLimits returns the configured limits, or lower ones if the system's limit
// on open files requires it.
func findLimits(c config.Config, redis taskqueue.Redis, log *slog.Logger) (limits, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return limits{}, fmt.Errorf("reading the limit on open files: %w", err)
	}
	open := int(min(files.Cur, 1<<30)) // files.Cur may mean infinity
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
		redisPools = 2  // for messages, and for asynqmon
		others     = 64 // logs, listeners, subscriptions, and connections that are being closed
		least      = 16 // the fewest connections for clients
		reserve    = 8  // one connection in this many never holds a poll
	)
	own := c.Intake.Committers + int(c.Postgres.MaxConns) + keyConnections + redisPools*redisPool + ops.AdminConnections + httpserver.Refusing + others
	if files < own+least {
		return limits{}, fmt.Errorf("the limit on open files (ulimit -n) is %d: with these settings the api needs at least %d", files, own+least)
	}
	connections := min(c.API.MaxConnections, files-own)
	return limits{connections, connections - (connections+reserve-1)/reserve}, nil
}
