package taskqueue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// clientLifetime: a client of Asynq registers a queue's name once and never
// again. Redis may have lost it, and then asynqmon would not list the queue.
// Short, so that a single task after the loss is enough.
const clientLifetime = 250 * time.Millisecond

// Client enqueues tasks.
type Client struct {
	redis redis.UniversalClient

	mu    sync.Mutex
	asynq *asynq.Client
	born  time.Time
}

// NewClient returns a client on the Redis client, which stays the caller's.
func NewClient(c redis.UniversalClient) *Client { return &Client{redis: c} }

// ErrTaken is returned for a task whose id is taken. The task that has it need
// not be one that the queue still hands out: see States.
var ErrTaken = asynq.ErrTaskIDConflict

// Enqueue puts the task on its queue.
func (c *Client) Enqueue(ctx context.Context, task *asynq.Task, options ...asynq.Option) error {
	_, err := c.moment().EnqueueContext(ctx, task, options...)
	return err
}

// moment returns Asynq's client of the moment. Such clients share the Redis
// client and need no closing.
func (c *Client) moment() *asynq.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asynq == nil || time.Since(c.born) > clientLifetime {
		c.asynq, c.born = asynq.NewClientFromRedisClient(c.redis), time.Now()
	}
	return c.asynq
}

// Log takes what Asynq has to say. None of it is news: what fails there is
// Redis, of which others speak once, and no outcome depends on it.
type Log struct{ Log *slog.Logger }

// Debug logs.
func (l Log) Debug(args ...any) { l.Log.Debug(fmt.Sprint(args...)) }

// Info logs for whoever debugs.
func (l Log) Info(args ...any) { l.Debug(args...) }

// Warn logs for whoever debugs.
func (l Log) Warn(args ...any) { l.Debug(args...) }

// Error logs for whoever debugs.
func (l Log) Error(args ...any) { l.Debug(args...) }

// Fatal logs for whoever debugs: a library does not end this process.
func (l Log) Fatal(args ...any) { l.Debug(args...) }
