package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func redisKilled(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	s.redis.process.kill()
	away := between(r, 500*time.Millisecond, 3*time.Second)
	tell("and empty %s later", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return s.redis.start(context.WithoutCancel(ctx), s.family)
}

func redisFrozen(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	s.redis.process.freeze()
	defer s.redis.process.thaw()
	away := between(r, 2*time.Second, 6*time.Second)
	tell("for %s", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return nil
}

// tellRedis has Redis do something by itself.
func (s *site) tellRedis(ctx context.Context, tell teller, commands ...string) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	tell("%s", strings.Join(commands, ", "))
	return s.command(ctx, commands...)
}

// command sends Redis commands, past the proxies. The caller has hold of it.
func (s *site) command(ctx context.Context, commands ...string) error {
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

func redisFull(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.redis.Lock()
	defer s.redis.Unlock()
	if err := s.command(ctx, "CONFIG SET maxmemory 1"); err != nil {
		return err
	}
	away := between(r, 2*time.Second, 5*time.Second)
	tell("for %s", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return s.command(ctx, "CONFIG SET maxmemory 0")
}
