package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/rush"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// lastseat is Lastseat as a contender: its API and its worker, with their default
// settings, on a database of their own.
type lastseat struct {
	api       string // host:port
	processes map[proc.Part]int
	conn      *pgx.Conn
	url       string // of the database
}

func (l *lastseat) address() string         { return l.api }
func (l *lastseat) pids() map[proc.Part]int { return l.processes }
func (l *lastseat) mayBeCut() bool          { return false }

// withLastseat starts this tree's Lastseat on a copy of its template with the runs,
// calls body, and removes both.
func (b *testbed) withLastseat(ctx context.Context, runs []rivals.Run, body func(context.Context, *lastseat) error) error {
	return b.withBuild(ctx, b.tree(), runs, body)
}

// withBuild does the same with any build of Lastseat.
func (b *testbed) withBuild(ctx context.Context, of build, runs []rivals.Run, body func(context.Context, *lastseat) error) (err error) {
	database, drop, err := b.newDatabase(ctx, of.template)
	if err != nil {
		return err
	}
	defer func() {
		if e := drop(); err == nil {
			err = e
		}
	}()
	s := b.stack(database)
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := createRuns(ctx, conn, append(runs, warmRun)); err != nil {
		return fmt.Errorf("making the runs: %w", err)
	}
	return b.withGroup(ctx, func(ctx context.Context, g *proc.Group) error {
		// A log line for each request would be measured as well; a rush has none either.
		o := stack.Options{Env: rush.Quiet, Programs: of.programs, Foreign: of.foreign}
		if err := b.programs.StartPrograms(ctx, g, b.folder, s, o); err != nil {
			return b.withLog(err)
		}
		api, err := url.Parse(s.APIURL)
		if err != nil {
			return err
		}
		return body(ctx, &lastseat{api: api.Host, processes: g.PIDs(), conn: conn, url: s.PostgresURL})
	})
}

// createRuns makes runs whose registration is open. The API cannot make them, and
// making a thousand one by one would take a while. It adds their lines, because
// the schema of an earlier commit does not.
func createRuns(ctx context.Context, conn *pgx.Conn, runs []rivals.Run) error {
	slugs, seats := make([]string, len(runs)), make([]int, len(runs))
	for i, r := range runs {
		slugs[i], seats[i] = r.Slug, r.Seats
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO courses (slug, title) VALUES ('bench', 'Bench') ON CONFLICT DO NOTHING`)
	batch.Queue(`
		WITH created AS (
			INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, capacity, opens_at, closes_at)
			SELECT c.id, r.slug, 'UTC', now() + interval '30 days', now() + interval '31 days', r.seats, now() - interval '1 hour', now() + interval '1 day'
			FROM courses c, unnest($1::text[], $2::integer[]) AS r (slug, seats)
			WHERE c.slug = 'bench'
			RETURNING id
		)
		INSERT INTO lines (run_id) SELECT id FROM created`, slugs, seats)
	return conn.SendBatch(ctx, batch).Close()
}

// undecided reports whether a line is not settled to its end.
func (l *lastseat) undecided(ctx context.Context, _ int) (behind bool, err error) {
	err = l.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM runs r JOIN lines l ON l.run_id = r.id WHERE l.last_ticket > r.settled_ticket)`).Scan(&behind)
	return behind, err
}

// judge compares the answers with the line, and the line with the rules by which
// it is settled again: a wrong result is not measured, however fast it came.
func (l *lastseat) judge(ctx context.Context, told map[int]int, sample report.Sample) (last time.Time, err error) {
	if last, err = l.readDecisions(ctx, told, sample, "", 0); err != nil {
		return last, err
	}
	return last, l.requireSound(ctx)
}

// readDecisions reads the decisions: of all runs but warmRun, or of one run after
// a ticket.
func (l *lastseat) readDecisions(ctx context.Context, told map[int]int, sample report.Sample, slug string, after int64) (last time.Time, err error) {
	for status, n := range told {
		if status != http.StatusAccepted {
			return last, fmt.Errorf("%d requests were answered with status %d", n, status)
		}
	}
	var decided, seated, oversold int
	var p50, p99 *float64
	var end *time.Time
	err = l.conn.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE status = 'confirmed'), max(decided_at),
		       1000 * percentile_disc(0.50) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - accepted_at)::float8),
		       1000 * percentile_disc(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - accepted_at)::float8),
		       (SELECT coalesce(sum(greatest((SELECT count(*) FROM attendances a WHERE a.run_id = r.id) - r.capacity, 0)), 0)::integer FROM runs r)
		FROM requests q JOIN runs r ON r.id = q.run_id
		WHERE q.decided_at IS NOT NULL AND CASE WHEN $1 = '' THEN r.slug <> $2 ELSE r.slug = $1 AND q.ticket > $3 END`, slug, warmRun.Slug, after).
		Scan(&decided, &seated, &end, &p50, &p99, &oversold)
	switch {
	case err != nil:
		return last, fmt.Errorf("reading the line: %w", err)
	case oversold > 0:
		return last, fmt.Errorf("a promise of Lastseat is broken: %d seats were given that were not there", oversold)
	case decided != told[http.StatusAccepted]:
		return last, fmt.Errorf("a promise of Lastseat is broken: %d requests were accepted and %d are decided", told[http.StatusAccepted], decided)
	case end == nil:
		return last, errors.New("nothing was asked")
	}
	sample[report.Oversold] = 0
	sample[report.DecidedP50], sample[report.DecidedP99] = *p50, *p99
	sample[decidedCount], sample[seatedCount] = float64(decided), float64(seated)
	return *end, nil
}

// requireSound returns an error if a run breaks the doctor's rules.
func (l *lastseat) requireSound(ctx context.Context) error {
	store, err := stack.OpenStore(ctx, l.url)
	if err != nil {
		return err
	}
	defer store.Close()
	slugs, err := store.Slugs(ctx)
	if err != nil {
		return err
	}
	for _, slug := range slugs {
		found, err := store.CheckUp(ctx, slug)
		if err != nil {
			return err
		}
		for _, f := range found {
			if !f.Warning {
				return fmt.Errorf("a promise of Lastseat is broken: %s", f)
			}
		}
	}
	return nil
}

// fromTicket is Lastseat of which only one run counts, and only what came after a
// ticket.
type fromTicket struct {
	*lastseat
	slug   string
	ticket int64
}

func (l fromTicket) judge(ctx context.Context, told map[int]int, sample report.Sample) (time.Time, error) {
	return l.readDecisions(ctx, told, sample, l.slug, l.ticket)
}
