package main

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// watchInterval is the time between two looks at the lines, and so the precision
// of what is measured by them.
const watchInterval = 200 * time.Millisecond

// lineMark is how a line was seen to stand. It is on this program's clock,
// whatever the ledger's says.
type lineMark struct {
	at      time.Time
	last    int64 // ticket
	settled int64 // ticket
}

// watchLines notes how the lines move, also past the end of a Postgres. The
// function it returns says what was seen of each run.
func (s *site) watchLines(ctx context.Context) func() map[int32][]lineMark {
	ctx, cancel := context.WithCancel(ctx)
	seen := make(map[int32][]lineMark)
	var wg sync.WaitGroup
	wg.Go(func() {
		var conn *pgx.Conn
		for sleep(ctx, watchInterval) {
			_ = within(ctx, 2*time.Second, func(ctx context.Context) (err error) { // what cannot be read now is read later
				if conn == nil || conn.IsClosed() {
					if conn, err = pgx.Connect(ctx, s.postgresURL); err != nil {
						return err
					}
				}
				return readMarks(ctx, conn, seen)
			})
		}
		if conn != nil {
			conn.Close(context.WithoutCancel(ctx))
		}
	})
	return func() map[int32][]lineMark {
		cancel()
		wg.Wait()
		return seen
	}
}

// readMarks notes the lines that have moved.
func readMarks(ctx context.Context, conn *pgx.Conn, seen map[int32][]lineMark) error {
	rows, err := conn.Query(ctx, `SELECT r.id, l.last_ticket, r.settled_ticket FROM runs r JOIN lines l ON l.run_id = r.id`)
	if err != nil {
		return err
	}
	now := time.Now()
	var run int32
	var m lineMark
	_, err = pgx.ForEachRow(rows, []any{&run, &m.last, &m.settled}, func() error {
		marks := seen[run]
		if n := len(marks); n == 0 || marks[n-1].last != m.last || marks[n-1].settled != m.settled {
			m.at = now
			seen[run] = append(marks, m)
		}
		return nil
	})
	return err
}

// measureRecovery finds who waited longest for a decision while nothing was wrong
// any more: from the end of the last fault before the decision, or from when it
// was asked for if that was later.
func (r *chaosResult) measureRecovery(marks []lineMark, faults []faultRecord) {
	next := 0
	for i, asked := range marks {
		if i > 0 && asked.last == marks[i-1].last {
			continue // nobody asked
		}
		for next = max(next, i); next < len(marks) && marks[next].settled < asked.last; {
			next++
		}
		if next == len(marks) {
			return // it is undecided, which is judged elsewhere
		}
		decided, since := marks[next].at, asked.at
		for _, f := range faults {
			if f.excuses() && f.from.Before(decided) && f.to.After(since) {
				since = f.to
			}
		}
		if took := decided.Sub(since); took > 0 {
			r.SlowestRecovery = max(r.SlowestRecovery, rounded(took.Seconds()*1000))
		}
	}
}
