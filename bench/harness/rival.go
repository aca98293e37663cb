package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// rival is a contender other than Lastseat that runs: one process, on a database
// of its own.
type rival struct {
	rivals.Contender
	listen string // host:port
	pid    int
	conn   *pgx.Conn
	load   workload
}

func (r *rival) address() string         { return r.listen }
func (r *rival) pids() map[proc.Part]int { return map[proc.Part]int{proc.PartRival: r.pid} }
func (r *rival) mayBeCut() bool          { return true }

// withRival starts a contender with a pool of that size on an empty database with
// the runs of the workload, calls body, and removes both.
func (b *testbed) withRival(ctx context.Context, c rivals.Contender, pool int, w workload, body func(context.Context, *rival) error) error {
	return b.withRivalDatabase(ctx, c, w.runList(), func(url string) error {
		return b.withRivalOn(ctx, url, c, pool, w, body)
	})
}

// withRivalDatabase calls body with the URL of a database that is prepared for the
// contender, and drops it.
func (b *testbed) withRivalDatabase(ctx context.Context, c rivals.Contender, runs []rivals.Run, body func(url string) error) (err error) {
	database, drop, err := b.newDatabase(ctx, "")
	if err != nil {
		return err
	}
	defer func() {
		if e := drop(); err == nil {
			err = e
		}
	}()
	if err := rivals.Prepare(ctx, c, b.url(database), append(runs, warmRun)); err != nil {
		return err
	}
	return body(b.url(database))
}

// withRivalOn starts a contender on a database that is prepared for it.
func (b *testbed) withRivalOn(ctx context.Context, url string, c rivals.Contender, pool int, w workload, body func(context.Context, *rival) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return b.withGroup(ctx, func(ctx context.Context, g *proc.Group) error {
		r := &rival{Contender: c, conn: conn, load: w}
		if err := b.startRival(ctx, g, r, pool, url); err != nil {
			return b.withLog(err)
		}
		return body(ctx, r)
	})
}

func (b *testbed) startRival(ctx context.Context, g *proc.Group, r *rival, pool int, url string) error {
	lock, err := b.tool.LockPorts(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	port, err := proc.FreePort()
	if err != nil {
		return err
	}
	r.listen = "127.0.0.1:" + port
	out := b.programs.Log.Lines("rival")
	p, err := proc.Start(proc.Command{
		Name: "rival " + r.Name,
		Args: []string{
			b.folder.Join("bin", "rival"), "-contender", r.Name, "-listen", r.listen, "-redis", b.services.RedisURL, "-pool", strconv.Itoa(pool),
		},
		Dir: b.tool.Root, Env: append(os.Environ(), "RIVAL_POSTGRES_URL="+url), Stdout: out, Stderr: out,
	})
	if err != nil {
		return err
	}
	g.Add(p)
	r.pid = p.PID
	return proc.AwaitReady(ctx, p, 20*time.Second, r.ready)
}

// ready asks the HTTP server for the contender's name.
func (r *rival) ready(ctx context.Context) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.listen+"/ready", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	name, err := io.ReadAll(io.LimitReader(answer.Body, 100))
	if err == nil && strings.TrimSpace(string(name)) != r.Name {
		err = fmt.Errorf("%q answers in place of %s", name, r.Name)
	}
	return err
}

// undecided reports whether a request is queued. Contenders that decide before they
// answer queue nothing.
func (r *rival) undecided(ctx context.Context, accepted int) (bool, error) {
	if !r.Async || r.Name == rivals.Ceiling {
		return false, nil
	}
	decided, err := rivals.Decided(ctx, r.Contender, r.conn)
	return decided < accepted, err
}

// judge compares the answers with the tables.
func (r *rival) judge(ctx context.Context, told map[int]int, sample report.Sample) (last time.Time, err error) {
	for status, n := range told {
		switch status {
		case http.StatusCreated, http.StatusAccepted, http.StatusConflict, http.StatusServiceUnavailable:
		default:
			return last, fmt.Errorf("%d requests were answered with status %d", n, status)
		}
	}
	if r.Name == rivals.Ceiling {
		return last, nil
	}
	found, err := rivals.Count(ctx, r.Contender, r.conn, r.load.slugs())
	if err != nil {
		return last, err
	}
	sample[report.Oversold], sample[report.GaveUp] = float64(found.Oversold), float64(told[http.StatusServiceUnavailable])
	sample[seatedCount] = float64(found.Seated)
	if r.Async {
		sample[report.DecidedP50], sample[report.DecidedP99] = found.DecidedP50, found.DecidedP99
		sample[decidedCount] = float64(found.Recorded)
		return found.LastDecided, nil
	}
	seats, answers := told[http.StatusCreated], told[http.StatusCreated]+told[http.StatusConflict]
	if found.Seated != seats {
		return last, fmt.Errorf("%d people were told that they have a seat and %d have one", seats, found.Seated)
	}
	if r.Recording && found.Recorded != answers {
		return last, fmt.Errorf("%d people were told their outcome and %d outcomes are recorded", answers, found.Recorded)
	}
	return last, nil
}
