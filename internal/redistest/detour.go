package redistest

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Detour is a hook for clients that sends one command another way, for instance
// over a connection that breaks. So the fault hits exactly this command,
// whatever else the clients send at that instant.
type Detour struct {
	mu  sync.Mutex
	is  func(command []string) bool
	way func(context.Context, redis.Cmder) error
}

// Set sends the next command for which is returns true that way. A command is a
// list of its words.
func (d *Detour) Set(is func(command []string) bool, way func(context.Context, redis.Cmder) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.is, d.way = is, way
}

// Taken tells whether a command has taken the detour, or is taking it.
func (d *Detour) Taken() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.is == nil
}

// take returns the way for a command, or nil if the command takes none.
func (d *Detour) take(cmd redis.Cmder) func(context.Context, redis.Cmder) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	words := make([]string, len(cmd.Args()))
	for i, word := range cmd.Args() {
		words[i] = fmt.Sprint(word)
	}
	if d.is == nil || !d.is(words) {
		return nil
	}
	d.is = nil
	return d.way
}

// DialHook is part of redis.Hook.
func (d *Detour) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook is part of redis.Hook.
func (d *Detour) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if way := d.take(cmd); way != nil {
			return way(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook is part of redis.Hook. Pipelined commands take no detour.
func (d *Detour) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds) }
}
