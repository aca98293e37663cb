package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// selectHolders finds the transactions that hold the rows of the runs $1 or the
// heads of their lines; null means all runs. A row's lock stands in the row
// (xmax), and pg_locks shows whether its transaction still lives, so this takes
// no lock. If several transactions share the row, xmax is the number of a
// multixact, which has them as members. The two kinds of numbers look alike, so
// xmax is tried as both. pg_get_multixact_members fails for numbers outside the
// range that is kept, which the CASE leaves out. FOR KEY SHARE blocks nobody
// here.
const selectHolders = `
SELECT DISTINCT held.slug, held.line, coalesce(l.pid, 0), coalesce(a.application_name, ''), coalesce(a.state, ''),
       coalesce(clock_timestamp() - a.xact_start, interval '0')
FROM (
    SELECT id, slug, false AS line, xmax FROM runs
    UNION ALL
    SELECT r.id, r.slug, true, l.xmax FROM lines l JOIN runs r ON r.id = l.run_id
) held
CROSS JOIN LATERAL (
    SELECT held.xmax AS xid
    UNION ALL
    SELECT m.xid FROM pg_get_multixact_members(CASE
        WHEN held.xmax <> '0'::xid
         AND mxid_age(held.xmax) BETWEEN 1 AND (SELECT max(mxid_age(datminmxid)) FROM pg_database) THEN held.xmax
    END) m
    WHERE m.mode <> 'keysh'
) h
JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = h.xid
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE ($1::integer[] IS NULL OR held.id = ANY($1)) AND l.pid IS DISTINCT FROM pg_backend_pid()
ORDER BY 1, 2, 3`

// Holders returns the transactions that hold rows of the runs or heads of their
// lines now: of the given runs, or of all if runs is nil. It waits for none of
// them.
func (s *Store) Holders(ctx context.Context, runs []enroll.RunID) ([]enroll.Holder, error) {
	return collect(ctx, s, "looking for transactions that hold rows", pgx.RowToStructByPos[enroll.Holder], selectHolders, runs)
}
