package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
)

// rival is a contender other than Lastseat on a stage: one process, on a database
// of its own.
type rival struct {
	rivals.Contender
	door string // host:port
	pid  int
	conn *pgx.Conn
	rush rushOf
}

func (r *rival) address() string         { return r.door }
func (r *rival) processes() map[part]int { return map[part]int{partRival: r.pid} }
func (r *rival) mayBeCut() bool          { return true }

// withRival starts a contender with a pool of that size on an empty database, with
// the runs of the rush, calls body and takes all of it away.
func (a *arena) withRival(ctx context.Context, c rivals.Contender, pool int, r rushOf, body func(context.Context, *rival) error) error {
	return a.withDatabase(ctx, c, r.runsOf(), func(address string) error {
		return a.withRivalOn(ctx, address, c, pool, r, body)
	})
}

// withDatabase calls body with the URL of a database that is prepared for the
// contender, and drops it.
func (a *arena) withDatabase(ctx context.Context, c rivals.Contender, runs []rivals.Run, body func(address string) error) (err error) {
	database, drop, err := a.fresh(ctx, "")
	if err != nil {
		return err
	}
	defer func() {
		if e := drop(); err == nil {
			err = e
		}
	}()
	if err := rivals.Prepare(ctx, c, a.url(database), append(runs, warmRun)); err != nil {
		return err
	}
	return body(a.url(database))
}

// withRivalOn starts a contender on a database that is prepared for it.
func (a *arena) withRivalOn(ctx context.Context, address string, c rivals.Contender, pool int, r rushOf, body func(context.Context, *rival) error) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return a.withCast(ctx, func(ctx context.Context, cast *family) error {
		v := &rival{Contender: c, conn: conn, rush: r}
		if err := a.startRival(ctx, cast, v, pool, address); err != nil {
			return a.withWords(err)
		}
		return body(ctx, v)
	})
}

func (a *arena) startRival(ctx context.Context, cast *family, r *rival, pool int, database string) error {
	lock, err := awaitLock(ctx, filepath.Join(a.t.root, ".dev", "ports.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	port, err := freePort()
	if err != nil {
		return err
	}
	r.door = "127.0.0.1:" + port
	words := a.quiet.log.lines("rival")
	p, err := startProcess(command{
		name: "rival " + r.Name,
		args: []string{
			a.f.join("bin", "rival"), "-contender", r.Name, "-listen", r.door, "-redis", a.services.RedisURL, "-pool", strconv.Itoa(pool),
		},
		dir: a.t.root, env: append(os.Environ(), "RIVAL_POSTGRES_URL="+database), stdout: words, stderr: words,
	})
	if err != nil {
		return err
	}
	cast.adopt(p)
	r.pid = p.pid
	return awaitAnswer(ctx, p, 20*time.Second, r.ready)
}

// ready asks the door who is behind it.
func (r *rival) ready(ctx context.Context) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.door+"/ready", nil)
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

// undecided tells whether something is queued. Who answers when it has decided has
// nothing queued.
func (r *rival) undecided(ctx context.Context, accepted int) (bool, error) {
	if !r.Async || r.Name == rivals.Ceiling {
		return false, nil
	}
	decided, err := rivals.Decided(ctx, r.Contender, r.conn)
	return decided < accepted, err
}

// judge compares what people were told with the tables.
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
	found, err := rivals.Count(ctx, r.Contender, r.conn, r.rush.slugs())
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
