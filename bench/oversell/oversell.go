// Package oversell shows what the known answers to the question of the last seat
// (docs/why.md) do when many people ask at once: which of them give seats twice,
// start over, or let people overtake each other. It calls the answers of
// bench/rivals in-process on a real PostgreSQL.
package oversell

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/rivals"
)

// Result is what one answer did.
type Result struct {
	Name      string        // the answer, in a few words
	People    int           // how many asked
	Seats     int           // how many could have been served
	Seated    int           // rows in attendances when every person had an answer
	Oversold  int           // seats given beyond the capacity
	Retries   int           // how often an answer started over, all together
	Overtaken int           // how many were refused while a person who asked later got a seat
	PassedBy  int           // the most people who asked later than one of those and got a seat
	Took      time.Duration // from the first question to the last answer
}

// demonstrated are the answers, from the one in the question to the best known.
var demonstrated = []struct{ name, contender string }{
	{"as asked, ==", "as_asked"},
	{"as asked, >=", "as_asked_ge"},
	{"version column", "version"},
	{"touch and retry", "touch"},
	{"SELECT … FOR UPDATE", "for_update"},
	{"guarded UPDATE", "guarded"},
}

// Demonstrate lets so many people ask for so many seats of one run, as many at once
// as there are connections, and calls each with the result of one answer after
// the other.
//
// The database at address is a scratch one: every answer makes a schema demo_… of
// its own there and drops it at the end; an earlier schema of that name is dropped
// first.
func Demonstrate(ctx context.Context, address string, people, seats, connections int, each func(Result)) error {
	if people < 1 || seats < 0 || connections < 1 {
		return fmt.Errorf("demonstrating: %d people, %d seats and %d connections are not a rush", people, seats, connections)
	}
	for _, d := range demonstrated {
		result, err := demonstrate(ctx, address, d.contender, people, seats, connections)
		if err != nil {
			return fmt.Errorf("demonstrating %q: %w", d.name, err)
		}
		result.Name = d.name
		each(result)
	}
	return nil
}

// slug is that of the one run.
const slug = "run"

func demonstrate(ctx context.Context, address, contender string, people, seats, connections int) (r Result, err error) {
	r = Result{People: people, Seats: seats}
	c, found := rivals.Find(contender)
	if !found {
		return r, fmt.Errorf("there is no contender %q", contender)
	}
	own, drop, err := newSchema(ctx, address, "demo_"+contender)
	if err != nil {
		return r, err
	}
	defer func() {
		if e := drop(); err == nil {
			err = e
		}
	}()
	if err := rivals.Prepare(ctx, c, own, []rivals.Run{{Slug: slug, Seats: seats}}); err != nil {
		return r, err
	}
	outcomes, took, err := rush(ctx, own, c, people, connections)
	if err != nil {
		return r, err
	}
	counted, err := count(ctx, own, c)
	if err != nil {
		return r, err
	}
	told := 0
	for _, o := range outcomes {
		r.Retries += o.retries
		if o.seated {
			told++
		}
	}
	if told != counted.Seated {
		return r, fmt.Errorf("%d people were told that they have a seat and %d have one", told, counted.Seated)
	}
	r.Seated, r.Oversold, r.Took = counted.Seated, counted.Oversold, took
	r.Overtaken, r.PassedBy = overtaken(outcomes)
	return r, nil
}

// newSchema makes an empty schema in the database at address. It returns the URL
// that leads there, and a function that drops the schema.
func newSchema(ctx context.Context, address, name string) (own string, drop func() error, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil, err
	}
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	if err := execute(ctx, address, "DROP SCHEMA IF EXISTS "+name+" CASCADE; CREATE SCHEMA "+name); err != nil {
		return "", nil, err
	}
	return u.String(), func() error {
		return execute(context.WithoutCancel(ctx), address, "DROP SCHEMA "+name+" CASCADE")
	}, nil
}

func execute(ctx context.Context, address, sql string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// count counts the seats in the tables, whatever people were told.
func count(ctx context.Context, own string, c rivals.Contender) (rivals.Counted, error) {
	conn, err := pgx.Connect(ctx, own)
	if err != nil {
		return rivals.Counted{}, err
	}
	defer conn.Close(ctx)
	return rivals.Count(ctx, c, conn, []string{slug})
}
