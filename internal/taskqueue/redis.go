// Package taskqueue is the shared Asynq and Redis plumbing: how Redis is
// reached, a client that enqueues tasks, what became of a task, and where the
// messages of the two libraries go. It must not know what the tasks are.
package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// errorPause is how long the error of a Redis command is held back. Asynq's
// loop that takes tasks does not sleep after errors: against a Redis that
// refused them, 50 idle servers used a whole core, and a tenth of that with
// this pause.
const errorPause = 250 * time.Millisecond

// errURL stands for errors about a URL of Redis.
var errURL = errors.New("the URL of Redis is not valid: it must look like redis://user:password@host:6379/0")

// Redis opens clients of one Redis.
type Redis struct{ options redis.Options }

// ParseRedis reads the URL of Redis. Every dial, read and write ends within
// timeout, whatever the URL says. An error does not quote the URL, which may
// hold a password.
func ParseRedis(url string, timeout time.Duration) (Redis, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return Redis{}, errURL // err would quote the password
	}
	o.ContextTimeoutEnabled = true // or the library ignores the deadline of a context
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.MaxRetries, o.DialerRetries = -1, 1 // the callers know better when to try again
	// On a new connection the library would introduce itself, which older servers
	// answer with an error.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return Redis{*o}, nil
}

// Open returns a client, which connects when it is first used.
func (r Redis) Open() redis.UniversalClient {
	o := r.options
	return redis.NewClient(&o)
}

// PoolSize returns how many connections a client from Open may have, not
// counting subscriptions: ten for each processor, unless the URL sets it.
func (r Redis) PoolSize() int {
	o := r.options
	client := redis.NewClient(&o) // it fills in the library's default, and does not connect
	defer client.Close()
	return client.Options().PoolSize
}

const (
	// serverConnections is how many commands of all servers of a process can be on
	// their way to Redis at once. Callers wait for a connection up to the read
	// timeout. Without this bound, a thousand servers that started together made
	// fourteen hundred connections.
	serverConnections = 64

	// serverBuffer is the size of a connection's buffers in bytes. The library's
	// default of 32 KiB is for large answers.
	serverBuffer = 4 << 10
)

// OpenForServers returns a client for any number of Asynq servers to share. Its
// errors come late enough to slow down a loop that does nothing but fail. The
// servers cannot be told to cancel a task.
func (r Redis) OpenForServers() redis.UniversalClient {
	o := r.options
	o.PoolSize = serverConnections
	o.ReadBufferSize, o.WriteBufferSize = serverBuffer, serverBuffer
	c := redis.NewClient(&o)
	c.AddHook(pauseOnError{})
	return unsubscribed{c}
}

// unsubscribed is a client that cannot subscribe. Each Asynq server subscribes,
// on a connection of its own, to a channel on which tasks can be cancelled.
// Lastseat cancels none, and a thousand lanes were a thousand connections.
// Asynq takes this for a Redis that is away, and tries again every five
// seconds, which costs nothing.
type unsubscribed struct{ redis.UniversalClient }

// Subscribe returns a subscription that has ended.
func (u unsubscribed) Subscribe(ctx context.Context, _ ...string) *redis.PubSub {
	p := u.UniversalClient.Subscribe(ctx) // to no channel, which needs no connection
	_ = p.Close()
	return p
}

type pauseOnError struct{}

func (pauseOnError) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (pauseOnError) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		pauseFor(ctx, err)
		return err
	}
}

func (pauseOnError) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		pauseFor(ctx, err)
		return err
	}
}

// pauseFor waits, unless the error is an answer of Redis: that there is no
// value, or that a script must be sent first.
func pauseFor(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) || strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(errorPause):
	}
}

// LogRedis has the Redis library write its own messages to log, at level Debug:
// they are about connections that it makes anew, which is no trouble by itself.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (r redisLog) Printf(ctx context.Context, format string, v ...any) {
	r.log.DebugContext(ctx, fmt.Sprintf(format, v...), "from", "redis")
}
