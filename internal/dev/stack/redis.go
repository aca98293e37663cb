package stack

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
)

// StartRedis starts a Redis, as a member of the group, and returns it with its URL
// once it answers. It keeps nothing on disk: Lastseat loses nothing with it.
func (f *Folder) StartRedis(ctx context.Context, g *proc.Group, program string) (*proc.Service, string, error) {
	if filepath.Base(program) == provide.Simulation {
		return f.startSimulation(ctx, g, program)
	}
	address := func(port string) string { return "redis://127.0.0.1:" + port + "/0" }
	s := &proc.Service{LogFile: f.Join("redis.log")}
	s.Launch = func(ctx context.Context, port string, log io.Writer) (*proc.Process, error) {
		p, err := proc.Start(proc.Command{
			Name: string(proc.PartRedis),
			Args: []string{
				program, "--port", port, "--bind", "127.0.0.1", "--dir", f.Path,
				"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
			},
			Dir:    f.Path,
			Stdout: log,
			Stderr: log,
			Grace:  5 * time.Second,
		})
		if err != nil {
			return nil, err
		}
		return p, proc.AwaitReady(ctx, p, 15*time.Second, func(ctx context.Context) error { return pingRedis(ctx, address(port), p.PID) })
	}
	if err := s.StartOnFreePort(ctx, g); err != nil {
		return nil, "", err
	}
	return s, address(s.Port), nil
}

// startSimulation starts a simulated Redis. It cannot tell its process, so a
// password shows that no other program answers in its place.
func (f *Folder) startSimulation(ctx context.Context, g *proc.Group, program string) (*proc.Service, string, error) {
	password := rand.Text()
	address := func(port string) string { return "redis://:" + password + "@127.0.0.1:" + port + "/0" }
	s := &proc.Service{LogFile: f.Join("redis.log")}
	s.Launch = func(ctx context.Context, port string, log io.Writer) (*proc.Process, error) {
		p, err := proc.Start(proc.Command{
			Name: string(proc.PartRedis), Args: []string{program, "-listen", "127.0.0.1:" + port}, Dir: f.Path,
			Env: append(os.Environ(), "LASTSEAT_MINIREDIS_PASSWORD="+password), Stdout: log, Stderr: log,
			Grace: 5 * time.Second,
		})
		if err != nil {
			return nil, err
		}
		return p, proc.AwaitReady(ctx, p, 15*time.Second, func(ctx context.Context) error { return pingRedis(ctx, address(port), 0) })
	}
	if err := s.StartOnFreePort(ctx, g); err != nil {
		return nil, "", err
	}
	return s, address(s.Port), nil
}

// pingRedis returns nil if the Redis at the URL answers and, unless pid is 0, is
// that process: another program's Redis may have taken the port in the meantime.
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
