package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a Redis and returns it with its URL once it answers. It keeps nothing on disk: lastseat loses nothing
// with it. The process becomes a member of family.
func startRedis(ctx context.Context, family *family, f *folder, program string) (*service, string, error) {
	address := func(port string) string { return "redis://127.0.0.1:" + port + "/0" }
	s := &service{log: f.join("redis.log"), launch: func(ctx context.Context, port string, log io.Writer) (*process, error) {
		p, err := startProcess(command{
			name: "redis",
			args: []string{
				program, "--port", port, "--bind", "127.0.0.1", "--dir", f.path,
				"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
			},
			dir:    f.path,
			stdout: log,
			stderr: log,
			grace:  5 * time.Second,
			// It has nothing to lose, and takes no other signal when it is frozen.
			orphaned: syscall.SIGKILL,
		})
		if err != nil {
			return nil, err
		}
		return p, awaitAnswer(ctx, p, 15*time.Second, func(ctx context.Context) error { return pingRedis(ctx, address(port), p.pid) })
	}}
	if err := s.startOnFreePort(ctx, family); err != nil {
		return nil, "", err
	}
	return s, address(s.port), nil
}

// pingRedis reports whether the Redis at the URL answers and, if pid is not 0, is that process: the port may have been
// taken by somebody else's Redis in the meantime.
func pingRedis(ctx context.Context, address string, pid int) error {
	options, err := redis.ParseURL(address)
	if err != nil {
		return err
	}
	options.MaxRetries = -1
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil || pid == 0 {
		return err
	}
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return fmt.Errorf("%s is another process than %d", address, pid)
	}
	return nil
}
