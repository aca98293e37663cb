// Package taskqueue is what everybody here needs who works with Asynq: how Redis
// is reached, a client that enqueues, and where Asynq's own words go. It must
// not know what the tasks are.
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

// errorPause is how long a failed Redis command is held back. Asynq's dequeue
// loop does not sleep on errors: 50 idle servers used a whole core against a
// Redis that refused them, and a tenth of that with this pause.
const errorPause = 250 * time.Millisecond

// Redis knows how to reach Redis.
type Redis struct{ options redis.Options }

// ParseRedis reads the URL of Redis. Every dial, read and write ends within
// timeout. The error does not repeat the url.
func ParseRedis(url string, timeout time.Duration) (Redis, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return Redis{}, fmt.Errorf("reading the URL of Redis: it has not the form of one") // err would quote the password
	}
	// Without ContextTimeoutEnabled the library ignores a context's deadline.
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.MaxRetries, o.DialerRetries = -1, 1 // whoever calls knows better when to try again
	// What the library would tell every new connection about itself is an error
	// to older servers.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return Redis{*o}, nil
}

// Open returns a client. It connects when it is first used.
func (r Redis) Open() redis.UniversalClient {
	o := r.options
	return redis.NewClient(&o)
}

// PoolSize returns how many connections a client from Open may have, apart from
// subscriptions: ten for each processor, unless the URL says how many.
func (r Redis) PoolSize() int {
	o := r.options
	client := redis.NewClient(&o) // which fills in the library's default, and connects to nothing
	defer client.Close()
	return client.Options().PoolSize
}

const (
	// commandsAtOnce is how many commands of all servers of a process are on their
	// way to Redis at once. Who finds no connection waits, for as long as for an
	// answer. With room for one for each of a thousand servers that started
	// together, fourteen hundred connections were made.
	commandsAtOnce = 64

	// serverBuffer is in bytes. The library's 32 KiB are for large answers.
	serverBuffer = 4 << 10
)

// OpenForServers returns a client for any number of Asynq servers to share, on
// which a failure slows down who loops on it. They take no orders to cancel a task.
func (r Redis) OpenForServers() redis.UniversalClient {
	o := r.options
	o.PoolSize = commandsAtOnce
	o.ReadBufferSize, o.WriteBufferSize = serverBuffer, serverBuffer
	c := redis.NewClient(&o)
	c.AddHook(pauseOnError{})
	return unsubscribed{c}
}

// unsubscribed subscribes to nothing. Each Asynq server subscribes, on a connection to
// itself, to a channel on which others can have a task cancelled. Nobody may do that
// to ours, and a thousand lanes were a thousand connections. Asynq takes it for a
// Redis that is away, and every five seconds tries again, which costs nothing.
type unsubscribed struct{ redis.UniversalClient }

// Subscribe returns a subscription that has ended.
func (u unsubscribed) Subscribe(ctx context.Context, _ ...string) *redis.PubSub {
	p := u.UniversalClient.Subscribe(ctx) // to no channel, which needs no connection
	_ = p.Close()                         // it has none
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

// pauseFor waits unless the error is an answer: no value, or a script that has
// to be sent first.
func pauseFor(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) || strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(errorPause):
	}
}

// LogRedis makes the library's own messages lines of our log. It speaks of
// connections it makes again, which is no trouble by itself.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (r redisLog) Printf(ctx context.Context, format string, v ...any) {
	r.log.DebugContext(ctx, fmt.Sprintf(format, v...), "from", "redis")
}
