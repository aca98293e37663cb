package main

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
)

// arena is what all contenders of a bench are measured on: the services, and the
// programs that were built.
type arena struct {
	t        *tool
	quiet    *tool // whose words, and those of its children, go to a file
	f        *folder
	sink     *sink
	services services
	own      map[part]int // the processes of those services that are ours
	admin    *pgx.Conn    // makes and drops databases
	cache    *redis.Client
	name     string // of this bench, in the names of its databases: the server may be somebody's
	made     int    // databases so far
	pools    map[string]bestPool
}

// template is the database that each cell of Lastseat begins with.
func (a *arena) template() string { return a.name + "_template" }

// askedConnections is how many connections ask at once.
const askedConnections = 256

// withArena builds api and worker and what else is named, starts the services and
// calls body.
func (t *tool) withArena(ctx context.Context, body func(context.Context, *arena) error, packages ...string) error {
	sink, err := t.startSink(false)
	if err != nil {
		return wrap("starting the mail sink", err)
	}
	defer sink.stop()
	return t.withFolder(ctx, "bench", true, func(ctx context.Context, family *family, f *folder) error {
		t.log.printf("building %s", strings.Join(append([]string{"api", "worker"}, packages...), ", "))
		if err := t.build(ctx, f, packages...); err != nil {
			return err
		}
		a := &arena{t: t, f: f, sink: sink, pools: make(map[string]bestPool), name: "lastseat_bench_" + uuid.NewString()[:8]}
		words, err := os.Create(f.join("programs.log"))
		if err != nil {
			return err
		}
		defer words.Close()
		quiet := *t
		quiet.log = newConsole(words, t.getenv)
		a.quiet = &quiet
		if a.services, err = t.startServices(ctx, family, f, postgresOptions{durable: true, maxConnections: 200, database: "lastseat"}); err != nil {
			return err
		}
		a.own = family.pids()
		return a.with(ctx, body)
	})
}

// with connects to the services, makes the template and calls body.
func (a *arena) with(ctx context.Context, body func(context.Context, *arena) error) (err error) {
	if a.admin, err = pgx.Connect(ctx, a.services.PostgresURL); err != nil {
		return err
	}
	defer a.admin.Close(context.WithoutCancel(ctx))
	if err := a.requireDurable(ctx); err != nil {
		return err
	}
	o, err := redis.ParseURL(a.services.RedisURL)
	if err != nil {
		return err
	}
	a.cache = redis.NewClient(o)
	defer a.cache.Close()
	defer func() {
		if e := a.drop(ctx, a.template()); err == nil {
			err = e
		}
	}()
	if err := a.makeTemplate(ctx, a.tree()); err != nil {
		return err
	}
	return body(ctx, a)
}

// requireDurable refuses a Postgres on which a commit costs nothing: everything
// here is about what it costs.
func (a *arena) requireDurable(ctx context.Context) error {
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := a.admin.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
			return err
		}
		if value != "on" {
			return fmt.Errorf("this Postgres has %s=%s: what is measured on it says nothing", setting, value)
		}
	}
	return nil
}

// stack is Lastseat on a database of the arena.
func (a *arena) stack(database string) *stack {
	s := newStack(a.f, a.sink)
	s.services = services{PostgresURL: a.url(database), RedisURL: a.services.RedisURL}
	return s
}

func (a *arena) url(database string) string {
	u, err := url.Parse(a.services.PostgresURL)
	if err != nil {
		panic(err) // it connected before
	}
	u.Path = "/" + database
	return u.String()
}

// fresh makes an empty database, or a copy of a template, and empties Redis if it
// is ours: in somebody else's, queues that were left unfinished have names that
// nobody uses again. The function it returns drops the database.
func (a *arena) fresh(ctx context.Context, template string) (name string, drop func() error, err error) {
	a.made++
	name = fmt.Sprintf("%s_%d", a.name, a.made)
	if err := a.create(ctx, name, template); err != nil {
		return "", nil, err
	}
	if a.own[partRedis] != 0 {
		if err := a.cache.FlushAll(ctx).Err(); err != nil {
			return "", nil, wrap("emptying Redis", err)
		}
	}
	return name, func() error { return a.drop(ctx, name) }, nil
}

func (a *arena) create(ctx context.Context, name, template string) error {
	sql := "CREATE DATABASE " + name
	if template != "" {
		sql += " TEMPLATE " + template
	}
	_, err := a.admin.Exec(ctx, sql)
	return wrap("creating database "+name, err)
}

// drop drops a database, also after ctx has ended: the server may go on.
func (a *arena) drop(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := a.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	return wrap("dropping database "+name, err)
}

// startMeter begins to measure the processes of a contender, and what they work
// with.
func (a *arena) startMeter(processes map[part]int) *meter {
	all := maps.Clone(a.own)
	maps.Copy(all, processes)
	return startMeter(all)
}

// checkpoint writes out what was done before, so that it is not written while
// something is measured.
func (a *arena) checkpoint(ctx context.Context) error {
	_, err := a.admin.Exec(ctx, "CHECKPOINT")
	return wrap("making a checkpoint", err)
}

// withCast calls body with a family for the processes of one cell, and stops them
// when body returns. If one of them dies, that is what is returned, with its last
// words.
func (a *arena) withCast(ctx context.Context, body func(context.Context, *family) error) error {
	cast, living := newFamily(ctx, newConsole(io.Discard, a.t.getenv))
	err := body(living, cast)
	if death := (*deathError)(nil); errors.As(context.Cause(living), &death) {
		err = a.withWords(death)
	}
	cast.halt()
	return err
}

// withWords adds what the programs said last to an error.
func (a *arena) withWords(err error) error { return withLog(err, a.f.join("programs.log")) }
