package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// killRedis kills Redis, which keeps nothing, and starts it again.
func killRedis(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	s.redis.Process.Kill()
	d := between(r, 500*time.Millisecond, 3*time.Second)
	report("and empty %s later", d.Round(10*time.Millisecond))
	proc.Sleep(ctx, d)
	return s.redis.Start(context.WithoutCancel(ctx), s.group)
}

func freezeRedis(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	s.redis.Process.Freeze()
	defer s.redis.Process.Thaw()
	pause(ctx, r, 2*time.Second, 6*time.Second, report)
	return nil
}

func fillRedis(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	if err := s.commandRedis(ctx, "CONFIG SET maxmemory 1"); err != nil {
		return err
	}
	pause(ctx, r, 2*time.Second, 5*time.Second, report)
	return s.commandRedis(ctx, "CONFIG SET maxmemory 0")
}

// redisCommands is a fault that Redis commits itself, on command.
func redisCommands(commands ...string) injection {
	return func(ctx context.Context, s *system, _ *rand.Rand, report reporter) error {
		s.redis.Lock()
		defer s.redis.Unlock()
		report("%s", strings.Join(commands, ", "))
		return s.commandRedis(ctx, commands...)
	}
}

// commandRedis sends Redis commands, past the proxies. The caller has locked it.
func (s *system) commandRedis(ctx context.Context, commands ...string) error {
	o, err := redis.ParseURL(s.redisURL)
	if err != nil {
		return err
	}
	client := redis.NewClient(o)
	defer client.Close()
	for _, c := range commands {
		var words []any
		for _, word := range strings.Fields(c) {
			words = append(words, word)
		}
		if err := client.Do(context.WithoutCancel(ctx), words...).Err(); err != nil {
			return fmt.Errorf("telling Redis %s: %w", c, err)
		}
	}
	return nil
}
