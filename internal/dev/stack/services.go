package stack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
)

// Services are the Postgres and the Redis that a stack works with.
type Services struct {
	PostgresURL string `json:"postgres_url"`
	RedisURL    string `json:"redis_url"`
}

// servicePatience is how long a service of the environment may take to answer.
const servicePatience = 10 * time.Second

// ServiceOptions are what differs between the uses of a stack's own services.
type ServiceOptions struct {
	Postgres   cluster.Options
	Database   string
	Simulation bool // a simulated Redis will do
}

// StartServices takes the services that the environment gives and starts its own
// in place of the others, as members of the group.
func (t *Tool) StartServices(ctx context.Context, g *proc.Group, f *Folder, o ServiceOptions) (Services, error) {
	s := Services{PostgresURL: t.Getenv("LASTSEAT_POSTGRES_URL"), RedisURL: t.Getenv("LASTSEAT_REDIS_URL")}
	own, err := t.Programs(ctx, provide.Need{Postgres: s.PostgresURL == "", Redis: s.RedisURL == "", Simulation: o.Simulation})
	if err != nil {
		return s, err
	}

	patient, cancel := context.WithTimeout(ctx, servicePatience)
	defer cancel()
	if s.PostgresURL != "" {
		t.Log.Printf("Postgres: the one of LASTSEAT_POSTGRES_URL")
		if err := cluster.Ping(patient, s.PostgresURL); err != nil {
			return s, fmt.Errorf("LASTSEAT_POSTGRES_URL: %w", err)
		}
	} else {
		t.Log.Printf("Postgres: starting the one in %s", own.PostgresDir)
		if _, s.PostgresURL, err = f.StartPostgres(ctx, g, own.PostgresDir, o.Postgres, o.Database); err != nil {
			return s, err
		}
	}

	patient, cancel = context.WithTimeout(ctx, servicePatience)
	defer cancel()
	if s.RedisURL != "" {
		t.Log.Printf("Redis: the one of LASTSEAT_REDIS_URL")
		if err := pingRedis(patient, s.RedisURL, 0); err != nil {
			return s, fmt.Errorf("LASTSEAT_REDIS_URL: %w", err)
		}
	} else {
		t.Log.Printf("Redis: starting %s", own.RedisServer)
		if _, s.RedisURL, err = f.StartRedis(ctx, g, own.RedisServer); err != nil {
			return s, err
		}
	}
	return s, nil
}

// WithFolder claims .dev/<name>, calls body with it and a group of processes, and
// afterwards stops the group and releases the folder. The context of body ends
// with the caller's, or when a member of the group ends unasked; then WithFolder
// returns that as an error. A scratch folder is empty at the start, and removed at
// the end if body succeeds.
func (t *Tool) WithFolder(ctx context.Context, name string, scratch bool, body func(context.Context, *proc.Group, *Folder) error) error {
	f, err := claimFolder(t.Root, name)
	if err != nil {
		return err
	}
	if scratch {
		if err := f.wipe(ctx, t.Log); err != nil {
			f.release()
			return err
		}
	}

	g, running := proc.NewGroup(ctx, t.Log)
	err = body(running, g, f)
	if end := (*proc.UnexpectedEnd)(nil); errors.As(context.Cause(running), &end) {
		err = end
	}
	g.Stop()

	if scratch && err == nil {
		return f.remove(context.WithoutCancel(ctx), t.Log)
	}
	f.release()
	return err
}
