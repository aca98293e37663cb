package rivals

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Counted is what the tables say about some runs.
type Counted struct {
	Seated      int       // attendances
	Oversold    int       // seats given beyond the capacity
	Recorded    int       // requests with an outcome
	LastDecided time.Time // zero = no request was decided
	// From accepting to deciding, in milliseconds.
	DecidedP50, DecidedP99 float64
}

// Count counts the seats of the runs and the requests for them, from the tables and
// not from what people were told.
func Count(ctx context.Context, c Contender, conn *pgx.Conn, runs []string) (n Counted, err error) {
	err = conn.QueryRow(ctx, `
		SELECT coalesce(sum(seats), 0), coalesce(sum(greatest(seats - capacity, 0)), 0)
		FROM (SELECT r.capacity, (`+c.seats+`) AS seats FROM runs r WHERE r.slug = ANY($1)) r`, runs).
		Scan(&n.Seated, &n.Oversold)
	if err != nil {
		return n, fmt.Errorf("counting the seats of %s: %w", c.Name, err)
	}
	if !c.Recording {
		return n, nil
	}
	var last *time.Time
	var p50, p99 *float64
	err = conn.QueryRow(ctx, `
		SELECT count(*), max(q.decided_at),
		       1000 * percentile_disc(0.50) WITHIN GROUP (ORDER BY extract(epoch FROM q.decided_at - q.accepted_at)::float8),
		       1000 * percentile_disc(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM q.decided_at - q.accepted_at)::float8)
		FROM requests q JOIN runs r ON r.id = q.run_id WHERE r.slug = ANY($1)`, runs).
		Scan(&n.Recorded, &last, &p50, &p99)
	if err != nil {
		return n, fmt.Errorf("counting the requests of %s: %w", c.Name, err)
	}
	if last != nil {
		n.LastDecided, n.DecidedP50, n.DecidedP99 = *last, *p50, *p99
	}
	return n, nil
}

// Decided returns how many requests of all runs have an outcome. The contender must
// record them.
func Decided(ctx context.Context, c Contender, conn *pgx.Conn) (n int, err error) {
	err = conn.QueryRow(ctx, `SELECT count(*) FROM requests`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting the requests of %s: %w", c.Name, err)
	}
	return n, nil
}
