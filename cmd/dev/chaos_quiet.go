package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
)

// awaitQuiet waits until nothing is left to do, and returns what is when its
// patience ends.
func (s *site) awaitQuiet(ctx context.Context) ([]string, error) {
	var restless []string
	var mu sync.Mutex
	defer s.tool.progressEvery(ctx, 5*time.Second, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(restless[:min(len(restless), 3)], "; ")
	})()
	for began := time.Now(); time.Since(began) < chaosPatience; {
		now, err := s.restless(ctx)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		restless = now
		mu.Unlock()
		if len(now) == 0 {
			return nil, nil
		}
		if !sleep(ctx, time.Second) {
			return nil, ctx.Err()
		}
	}
	return restless, nil
}

// restless returns what still has to be done: programs that are not ready, lines
// to be settled, mails to be sent, tasks on queues.
func (s *site) restless(ctx context.Context) (all []string, err error) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, m := range s.members {
		if err := m.ready(ctx); err != nil {
			add("%s is not ready", m.name)
		}
	}
	behind, err := s.store.Backlogs(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	for _, b := range behind {
		add("run %s: a request has waited for %s", b.Run, b.Age.Round(time.Second))
	}
	mails, err := s.store.MailBacklog(ctx)
	if err != nil {
		return nil, err
	}
	if mails.Pending > 0 {
		add("%d mails wait, the oldest for %s", mails.Pending, mails.Oldest.Round(time.Second))
	}
	changes, err := s.changesToTell(ctx)
	if err != nil {
		return nil, err
	}
	if changes > 0 {
		add("%d runs were moved, and the mails about that are not written", changes)
	}
	tasks, err := s.tasks()
	return append(all, tasks...), err
}

// changesToTell counts the runs that were moved and whose notices are not written.
func (s *site) changesToTell(ctx context.Context) (n int, err error) {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*) FROM run_changes WHERE opened_at IS NOT NULL OR after IS NOT NULL`).Scan(&n)
	return n, err
}

// tasks returns what stands on Asynq's queues, in any state.
func (s *site) tasks() (all []string, err error) {
	o, err := asynq.ParseRedisURI(s.redisURL)
	if err != nil {
		return nil, err
	}
	inspector := asynq.NewInspector(o)
	defer func() { _ = inspector.Close() }() // it only read
	queues, err := inspector.Queues()
	if err != nil {
		return nil, err
	}
	for _, name := range queues {
		q, err := inspector.GetQueueInfo(name)
		if err != nil {
			return nil, err
		}
		if q.Size > 0 {
			all = append(all, fmt.Sprintf("queue %s: tasks active: %d, pending: %d, scheduled: %d, to be tried again: %d, archived: %d",
				name, q.Active, q.Pending, q.Scheduled, q.Retry, q.Archived))
		}
	}
	return all, nil
}
