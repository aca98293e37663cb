package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// selectBacklogs finds the lines whose head has been waiting for $1, and with
// amongThese only among the runs $2. Without it, it looks at every run's two
// counters, which is cheap (10 000 runs in a few milliseconds) and forgets none,
// however long ago the run was. A head from the future waits, too: the clock was
// set back since.
const (
	selectBacklogs = `
SELECT r.id, r.slug, clock.now - q.accepted_at, r.settled_ticket
FROM (SELECT clock_timestamp() AS now) clock
CROSS JOIN runs r
CROSS JOIN LATERAL (SELECT last_ticket FROM lines l WHERE l.run_id = r.id LIMIT 1) l
CROSS JOIN LATERAL (
    SELECT accepted_at FROM requests q WHERE q.run_id = r.id AND q.ticket > r.settled_ticket ORDER BY q.ticket LIMIT 1
) q
WHERE l.last_ticket > r.settled_ticket AND (q.accepted_at <= clock.now - $1::interval OR q.accepted_at > clock.now) `
	amongThese  = `AND r.id = ANY($2) `
	oldestFirst = `ORDER BY q.accepted_at`
)

// Backlogs returns the lines whose first undecided request was accepted at
// least age ago, or at an instant that is yet to come, the oldest first: among
// the given runs, or among all if runs is nil.
func (s *Store) Backlogs(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Backlog, error) {
	sql, args := selectBacklogs+oldestFirst, []any{age}
	if runs != nil {
		sql, args = selectBacklogs+amongThese+oldestFirst, []any{age, runs}
	}
	return collect(ctx, s, "looking for lines that wait", func(row pgx.CollectableRow) (b enroll.Backlog, err error) {
		err = row.Scan(&b.RunID, &b.Run, &b.Age, &b.Settled)
		return b, err
	}, sql, args...)
}
