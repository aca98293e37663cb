package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/postgres"
)

// system is everything that chaos breaks: services and programs, and a proxy
// between each of the programs and each of the services.
type system struct {
	tool        *stack.Tool
	group       *proc.Group
	postgres    breakable
	postgresURL string // past the proxies
	redis       breakable
	redisURL    string // past the proxies
	sink        *stack.Sink
	sinkMu      sync.Mutex // held by the fault that makes the sink misbehave
	apis        []*program
	programs    []*program // APIs, then workers
	token       string     // an admin's
	store       *postgres.Store
	people      *people
	disk        *disk  // holds the tables; nil = they are on this machine's disk
	whyNoDisk   string // why disk is nil
}

// breakable is a service. A fault locks it, so that faults take turns.
type breakable struct {
	sync.Mutex
	*proc.Service
}

// How many programs there are.
const (
	apiCount    = 2
	workerCount = 3
)

// startSystem builds and starts everything. It takes no service from the
// environment, because the services are going to be killed.
func startSystem(ctx context.Context, t *stack.Tool, g *proc.Group, f *stack.Folder, p plan) (*system, error) {
	own, err := t.Programs(ctx, provide.Need{Postgres: true, Redis: true})
	if err != nil {
		return nil, err
	}
	t.Log.Printf("this is instance %s: data and logs are in %s", filepath.Base(f.Path), f.Path)
	if err := t.Build(ctx, f); err != nil {
		return nil, err
	}
	t.Log.Printf("starting Postgres, Redis, a mail sink, %d APIs and %d workers", apiCount, workerCount)
	s := &system{tool: t, group: g}
	if err := s.startServices(ctx, f, own, p); err != nil {
		return nil, err
	}
	if s.token, err = stack.AddAdmin(ctx, s.postgresURL); err != nil {
		return nil, fmt.Errorf("adding an admin: %w", err)
	}
	if s.store, err = stack.OpenStore(ctx, s.postgresURL); err != nil {
		return nil, err
	}
	if s.sink, err = t.StartSink(stack.Options{}); err != nil {
		s.store.Close()
		return nil, fmt.Errorf("starting the mail sink: %w", err)
	}
	if err := s.startPrograms(ctx, f); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// startServices starts Postgres and Redis and makes the database.
func (s *system) startServices(ctx context.Context, f *stack.Folder, own provide.Programs, p plan) error {
	server, url, err := f.StartPostgres(ctx, s.group, own.PostgresDir, cluster.Options{Durable: true, MaxConnections: 300}, "postgres")
	if err != nil {
		return err
	}
	s.postgres.Service = server.Service
	if s.postgresURL, s.disk, s.whyNoDisk, err = createDatabase(ctx, url, p.seconds); err != nil {
		return err
	}
	if s.redis.Service, s.redisURL, err = f.StartRedis(ctx, s.group, own.RedisServer); err != nil {
		return err
	}
	if err := installClock(ctx, s.postgresURL); err != nil {
		return err
	}
	err = proc.Run(ctx, proc.Command{
		Name: "api migrate", Args: []string{f.Join("bin", "api"), "migrate"}, Dir: s.tool.Root,
		Env: append(os.Environ(), "LASTSEAT_POSTGRES_URL="+s.postgresURL), Stderr: s.tool.Log.Lines("api"),
	})
	if err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}

// startPrograms starts the programs and waits until they are ready.
func (s *system) startPrograms(ctx context.Context, f *stack.Folder) error {
	for i := range apiCount + workerCount {
		part, number := proc.PartWorker, i-apiCount+1
		if i < apiCount {
			part, number = proc.PartAPI, i+1
		}
		p, err := s.newProgram(f, part, number)
		if err != nil {
			return err
		}
		s.programs = append(s.programs, p)
		if part == proc.PartAPI {
			s.apis = append(s.apis, p)
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	for _, p := range s.programs {
		if err := proc.AwaitReady(ctx, p.process, time.Minute, p.ready); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the programs, which the group would stop in the order of their last
// start, and what is not in the group.
func (s *system) stop() {
	for _, p := range s.programs {
		if p.process != nil {
			s.tool.Log.Printf("stopping %s", p.Name)
			p.process.Stop()
		}
	}
	s.sink.Stop()
	s.store.Close()
	for _, p := range s.programs {
		p.toPostgres.Close()
		p.toRedis.Close()
	}
}

// awaitReady waits until all programs are ready, before a fault that is to happen
// alone, and reports whether they are within half a minute.
func (s *system) awaitReady(ctx context.Context) bool {
	for began := time.Now(); time.Since(began) < 30*time.Second && proc.Sleep(ctx, watchInterval); {
		ready := true
		for _, p := range s.programs {
			ready = ready && p.ready(ctx) == nil
		}
		if ready {
			return true
		}
	}
	return false
}
