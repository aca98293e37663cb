package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// testbed is what all contenders are measured on: the services, and the programs
// that were built.
type testbed struct {
	tool     *stack.Tool
	programs *stack.Tool // starts programs, whose output goes to a file
	folder   *stack.Folder
	sink     *stack.Sink
	services stack.Services
	own      map[proc.Part]int // the processes of our own services
	admin    *pgx.Conn         // makes and drops databases
	redis    *redis.Client
	name     string // begins the names of the databases: the server may be shared
	made     int    // databases so far
	pools    map[string]bestPool
}

// template is the database that each of Lastseat's trials begins with.
func (b *testbed) template() string { return b.name + "_template" }

// programLog is the file of the programs' output.
const programLog = "programs.log"

// withTestbed builds api, worker and the packages, starts the services and calls
// body.
func withTestbed(ctx context.Context, t *stack.Tool, body func(context.Context, *testbed) error, packages ...string) error {
	sink, err := t.StartSink(stack.Options{})
	if err != nil {
		return fmt.Errorf("starting the mail sink: %w", err)
	}
	defer sink.Stop()
	return t.WithFolder(ctx, "bench", true, func(ctx context.Context, g *proc.Group, f *stack.Folder) error {
		t.Log.Printf("building %s", strings.Join(append([]string{"api", "worker"}, packages...), ", "))
		if err := t.Build(ctx, f, packages...); err != nil {
			return err
		}
		b := &testbed{tool: t, folder: f, sink: sink, pools: make(map[string]bestPool), name: "lastseat_bench_" + uuid.NewString()[:8]}
		output, err := os.Create(f.Join(programLog))
		if err != nil {
			return err
		}
		defer output.Close()
		b.programs = stack.NewTool(t.Root, t.Getenv, t.Stdout, t.Stderr, output)
		if b.services, err = t.StartServices(ctx, g, f, stack.OwnServices); err != nil {
			return err
		}
		b.own = g.PIDs()
		return b.connect(ctx, body)
	})
}

// connect connects to the services, makes the template and calls body.
func (b *testbed) connect(ctx context.Context, body func(context.Context, *testbed) error) (err error) {
	if b.admin, err = pgx.Connect(ctx, b.services.PostgresURL); err != nil {
		return err
	}
	defer b.admin.Close(context.WithoutCancel(ctx))
	if err := b.requireDurable(ctx); err != nil {
		return err
	}
	o, err := redis.ParseURL(b.services.RedisURL)
	if err != nil {
		return err
	}
	b.redis = redis.NewClient(o)
	defer b.redis.Close()
	defer func() {
		if e := b.drop(ctx, b.template()); err == nil {
			err = e
		}
	}()
	if err := b.makeTemplate(ctx, b.tree()); err != nil {
		return err
	}
	return body(ctx, b)
}

// requireDurable refuses a Postgres on which a commit costs nothing, since commits
// are what is measured.
func (b *testbed) requireDurable(ctx context.Context) error {
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := b.admin.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
			return err
		}
		if value != "on" {
			return fmt.Errorf("this Postgres has %s=%s: what is measured on it says nothing", setting, value)
		}
	}
	return nil
}

// stack returns a Lastseat on a database of the testbed.
func (b *testbed) stack(database string) *stack.Stack {
	s := stack.New(b.folder, b.sink)
	s.Services = stack.Services{PostgresURL: b.url(database), RedisURL: b.services.RedisURL}
	return s
}

func (b *testbed) url(database string) string {
	u, err := url.Parse(b.services.PostgresURL)
	if err != nil {
		panic(err) // it connected before
	}
	u.Path = "/" + database
	return u.String()
}

// newDatabase makes an empty database, or a copy of a template, and empties our own
// Redis. In a shared Redis, unfinished queues stay, under names that no other trial
// uses. The function that it returns drops the database.
func (b *testbed) newDatabase(ctx context.Context, template string) (name string, drop func() error, err error) {
	b.made++
	name = fmt.Sprintf("%s_%d", b.name, b.made)
	if err := b.create(ctx, name, template); err != nil {
		return "", nil, err
	}
	if b.own[proc.PartRedis] != 0 {
		if err := b.redis.FlushAll(ctx).Err(); err != nil {
			return "", nil, fmt.Errorf("emptying Redis: %w", err)
		}
	}
	return name, func() error { return b.drop(ctx, name) }, nil
}

func (b *testbed) create(ctx context.Context, name, template string) error {
	sql := "CREATE DATABASE " + name
	if template != "" {
		sql += " TEMPLATE " + template
	}
	if _, err := b.admin.Exec(ctx, sql); err != nil {
		return fmt.Errorf("creating database %s: %w", name, err)
	}
	return nil
}

// drop drops a database, even after ctx has ended: the server may keep running.
func (b *testbed) drop(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := b.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("dropping database %s: %w", name, err)
	}
	return nil
}

// startMeter begins to measure the processes of a contender and of the services.
func (b *testbed) startMeter(pids map[proc.Part]int) *proc.Meter {
	all := maps.Clone(b.own)
	maps.Copy(all, pids)
	return proc.StartMeter(all)
}

// checkpoint writes out what was done so far, so that it is not written during a
// measurement.
func (b *testbed) checkpoint(ctx context.Context) error {
	if _, err := b.admin.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("making a checkpoint: %w", err)
	}
	return nil
}

// withGroup calls body with a group for the processes of one trial and stops them
// when body returns. If one of them ends unasked, withGroup returns that as an
// error, with the end of the programs' log.
func (b *testbed) withGroup(ctx context.Context, body func(context.Context, *proc.Group) error) error {
	g, running := proc.NewGroup(ctx, proc.NewConsole(io.Discard, b.tool.Getenv))
	err := body(running, g)
	if end := (*proc.UnexpectedEnd)(nil); errors.As(context.Cause(running), &end) {
		err = b.withLog(end)
	}
	g.Stop()
	return err
}

// withLog adds the end of the programs' log to an error.
func (b *testbed) withLog(err error) error { return proc.WithLog(err, b.folder.Join(programLog)) }
