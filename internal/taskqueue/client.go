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

// clientLifetime is how long one client of Asynq is used. It registers the name
// of a queue only once, and if Redis loses the name, asynqmon does not list the
// queue. The time is short, so that a single task after such a loss brings the
// name back.
const clientLifetime = 250 * time.Millisecond

// Client enqueues tasks.
type Client struct {
	redis redis.UniversalClient

	mu        sync.Mutex
	asynq     *asynq.Client
	createdAt time.Time
}

// NewClient returns a client on the Redis client, which stays the caller's.
func NewClient(c redis.UniversalClient) *Client { return &Client{redis: c} }

// ErrTaken is the error for a task whose id another task has. The queue need
// not hand that other task out any more: see States.
var ErrTaken = asynq.ErrTaskIDConflict

// Enqueue puts the task on its queue.
func (c *Client) Enqueue(ctx context.Context, task *asynq.Task, options ...asynq.Option) error {
	_, err := c.current().EnqueueContext(ctx, task, options...)
	return err
}

// current returns an Asynq client that is young enough. Such clients share the
// Redis client and need not be closed.
func (c *Client) current() *asynq.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asynq == nil || time.Since(c.createdAt) > clientLifetime {
		c.asynq, c.createdAt = asynq.NewClientFromRedisClient(c.redis), time.Now()
	}
	return c.asynq
}

// Log writes Asynq's own messages to a log, all of them at level Debug. They
// mostly say that Redis fails, which is logged elsewhere, once for each outage;
// no outcome depends on it.
type Log struct{ Log *slog.Logger }

// Debug logs a message.
func (l Log) Debug(args ...any) { l.Log.Debug(fmt.Sprint(args...)) }

// Info logs a message, at level Debug.
func (l Log) Info(args ...any) { l.Debug(args...) }

// Warn logs a message, at level Debug.
func (l Log) Warn(args ...any) { l.Debug(args...) }

// Error logs a message, at level Debug.
func (l Log) Error(args ...any) { l.Debug(args...) }

// Fatal logs a message, at level Debug. It does not end the process.
func (l Log) Fatal(args ...any) { l.Debug(args...) }
