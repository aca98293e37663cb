// Package bench holds the known answers to the question that Lastseat began
// with (docs/why.md tells it), each as its friends would write it, and lets a
// crowd of people try them on a real PostgreSQL.
//
// It owns the rivals, one file each, and what is measured of them. It must not
// know Lastseat's own tables, queues or HTTP interface: the rivals are the
// others.
package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Result is what one answer did in front of a crowd.
type Result struct {
	Name      string        // the answer, in a few words
	What      string        // what it does, in a sentence
	People    int           // how many asked
	Seats     int           // how many could have been served
	Seated    int           // rows in attendances when everybody had their answer
	Oversold  int           // seats given away that did not exist
	Retries   int           // how often anybody had to begin again, all together
	Overtaken int           // how many were refused while somebody who asked later got a seat
	PassedBy  int           // the most who asked later than one of those and got a seat
	Took      time.Duration // from the first question to the last answer
}

// rival is one answer to the question.
type rival struct {
	name   string
	what   string
	schema string
	// ask tries to get a seat for a user on a connection of its own. It tells
	// whether they have one and how often it had to begin again.
	ask func(ctx context.Context, conn *pgx.Conn, user int) (seated bool, retries int, err error)
}

// rivals are all answers, from the one that was asked about to the best known.
var rivals = []rival{
	asAsked("as asked, ==", "demo_as_asked", "reads attendances_count, is full if it == capacity, then inserts; no lock",
		func(r run) bool { return r.attendancesCount == r.capacity }),
	asAsked("as asked, >=", "demo_as_asked_ge", "the same, and full if attendances_count >= capacity",
		func(r run) bool { return r.attendancesCount >= r.capacity }),
	version,
	touch,
	forUpdate,
	guarded,
}

// Demonstrate lets so many people ask for so many seats of one run, with as many
// of them on their way at once as there are connections, and calls each with the
// result of one answer after the other.
//
// The database at url is a scratch one: every answer makes a schema demo_… of
// its own there, drops what had that name before, and drops its own when it is
// done.
func Demonstrate(ctx context.Context, url string, people, seats, connections int, each func(Result)) error {
	if people < 1 || seats < 0 || connections < 1 {
		return fmt.Errorf("demonstrating: %d people, %d seats and %d connections are not a rush", people, seats, connections)
	}
	for _, r := range rivals {
		result, err := r.demonstrate(ctx, url, people, seats, connections)
		if err != nil {
			return fmt.Errorf("demonstrating %q: %w", r.name, err)
		}
		each(result)
	}
	return nil
}

func (r rival) demonstrate(ctx context.Context, url string, people, seats, connections int) (result Result, err error) {
	result = Result{Name: r.name, What: r.what, People: people, Seats: seats}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return result, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := create(ctx, conn, r.schema, seats); err != nil {
		return result, err
	}
	defer func() {
		if e := drop(context.WithoutCancel(ctx), conn, r.schema); err == nil {
			err = e
		}
	}()

	outcomes, took, err := rush(ctx, url, r, people, connections)
	if err != nil {
		return result, err
	}
	// What is believed is the table, not what people were told.
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+r.schema+".attendances").Scan(&result.Seated); err != nil {
		return result, err
	}
	told := 0
	for _, o := range outcomes {
		result.Retries += o.retries
		if o.seated {
			told++
		}
	}
	if told != result.Seated {
		return result, fmt.Errorf("%d people were told that they have a seat and %d have one", told, result.Seated)
	}
	result.Oversold = max(result.Seated-seats, 0)
	result.Overtaken, result.PassedBy = overtaken(outcomes)
	result.Took = took
	return result, nil
}
