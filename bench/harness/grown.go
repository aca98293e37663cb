package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/enroll"
)

// grownRequests is how many requests a run has that has grown.
const grownRequests = 200_000

// measureGrown measures a rush on a run that has many requests, and beside it the
// same rush on a new run of the same database.
func measureGrown(ctx context.Context, b *testbed, c benchCase, p plan) (*report.Case, error) {
	grown, w, size := workload{runs: 1, seats: enroll.MaxCapacity, prefix: "grown"}, c.load, grownRequests
	if p.quick {
		w, size = w.smaller(20), size/20
	}
	w.limit = trialLimit
	runs := grown.runList()
	for i := range p.rounds {
		runs = append(runs, rivals.Run{Slug: newRun(i) + "-1", Seats: enroll.MaxCapacity})
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets}
	err := b.withLastseat(ctx, runs, func(ctx context.Context, l *lastseat) error {
		b.tool.Log.Printf("%s: making a run with %d requests", c.id, size)
		if err := growRun(ctx, l.conn, grown.slug(0), size); err != nil {
			return err
		}
		for round := range p.rounds {
			w.first = round * w.people
			// The new run first, and in the next round last.
			prefixes := []string{newRun(round), grown.prefix}
			if round%2 == 1 {
				slices.Reverse(prefixes)
			}
			both := make(map[string]report.Sample)
			for _, w.prefix = range prefixes {
				var last int64
				err := l.conn.QueryRow(ctx, `SELECT last_ticket FROM lines l JOIN runs r ON r.id = l.run_id WHERE r.slug = $1`, w.slug(0)).Scan(&last)
				if err != nil {
					return err
				}
				if both[w.prefix], err = b.trial(ctx, fromTicket{l, w.slug(0), last}, w); err != nil {
					return err
				}
			}
			s := both[grown.prefix]
			s[report.Plain] = both[newRun(round)][report.Accepted]
			out.Lastseat.Samples = append(out.Lastseat.Samples, s)
			b.tool.Log.Printf("%s, round %d of %d: %.0f accepted per second, %.0f on a new run", c.id, round+1, p.rounds, s[report.Accepted], s[report.Plain])
		}
		return l.requireSound(ctx)
	})
	return out, err
}

func newRun(round int) string { return fmt.Sprintf("new-%d", round+1) }

// growRun gives a run without requests so many, all confirmed, as if they had been
// accepted and settled long ago and their mails had been sent.
func growRun(ctx context.Context, conn *pgx.Conn, slug string, size int) error {
	var run int32
	if err := conn.QueryRow(ctx, `SELECT id FROM runs WHERE slug = $1`, slug).Scan(&run); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`INSERT INTO requests (run_id, ticket, id, kind, name, email, email_key, idempotency_key, accepted_at, status, decided_at)
			 SELECT $1, n, gen_random_uuid(), 'register', 'Person ' || n, 'old-' || n || '@example.org', 'old-' || n || '@example.org', gen_random_uuid()::text,
			        i, 'confirmed', i + interval '20 ms'
			 FROM generate_series(1, $2::integer) n, LATERAL (SELECT now() - interval '30 minutes' + n * interval '1 ms' AS i) i`,
			`INSERT INTO users (email_key, email, name)
			 SELECT email_key, email, name FROM requests WHERE run_id = $1 AND ticket <= $2::integer ORDER BY ticket`,
			`INSERT INTO attendances (run_id, user_id, ticket)
			 SELECT q.run_id, u.id, q.ticket FROM requests q JOIN users u USING (email_key) WHERE q.run_id = $1 AND q.ticket <= $2::integer`,
			`INSERT INTO mails (kind, run_id, ticket, due_at, next_at, state, attempts, ended_at)
			 SELECT 'confirmed', run_id, ticket, decided_at, decided_at, 'sent', 1, decided_at FROM requests WHERE run_id = $1 AND ticket <= $2::integer`,
			`UPDATE lines SET last_ticket = $2::integer, last_accepted_at = now() - interval '30 minutes' + $2::integer * interval '1 ms' WHERE run_id = $1`,
			`UPDATE runs SET settled_ticket = $2::integer, attendances_count = $2::integer WHERE id = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, run, size); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("making a run with %d requests: %w", size, err)
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE") // autovacuum would have run by then
	return err
}
