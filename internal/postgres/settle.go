package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// lockRuns locks the rows of the runs to be settled, which is the fence behind
// the lanes: whatever else settles them waits for its own turn. Rows that
// somebody else holds are skipped, or two settlers with several runs each would
// hold up all of each other's. NO KEY: foreign keys must not wait for it.
const lockRuns = `
SELECT id, capacity, attendances_count, settled_ticket
FROM runs
WHERE id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE SKIP LOCKED`

// nextRequests reads what comes next in the lines, and of each whether its
// address holds a seat. A statement of its own, after lockRuns, so that its
// snapshot has everything the previous settler wrote. Both laterals are bounded
// by a LIMIT, which keeps them on their indexes: the cost depends on the number
// of requests and never on the size of the run or of a table.
const nextRequests = `
SELECT q.run_id, q.ticket, q.email_key, h.holds IS NOT NULL
FROM runs r
CROSS JOIN LATERAL (
    SELECT q.run_id, q.ticket, q.email_key FROM requests q
    WHERE q.run_id = r.id AND q.ticket > r.settled_ticket
    ORDER BY q.ticket LIMIT $2
) q
LEFT JOIN LATERAL (
    SELECT true AS holds FROM users u JOIN attendances a ON a.run_id = q.run_id AND a.user_id = u.id
    WHERE u.email_key = q.email_key LIMIT 1
) h ON true
WHERE r.id = ANY($1)
ORDER BY q.run_id, q.ticket`

// findOrCreateUsers is one statement sorted by key: anything else deadlocks
// between two settlers that seat the same people.
const findOrCreateUsers = `
INSERT INTO users (email_key, email, name)
SELECT DISTINCT ON (q.email_key) q.email_key, q.email, q.name
FROM unnest($1::integer[], $2::bigint[]) AS won (run_id, ticket)
CROSS JOIN LATERAL (SELECT * FROM requests q WHERE q.run_id = won.run_id AND q.ticket = won.ticket LIMIT 1) q
ORDER BY q.email_key, q.run_id, q.ticket
ON CONFLICT (email_key) DO NOTHING`

// The last two statements count the rows they write and divide by zero when
// there are not as many as belong. That can only happen if a lock did not do
// what this file believes it does, and then the commit, which travels in the
// same batch, must not happen.

// seat is a statement of its own so that its snapshot has the users that
// another transaction created while findOrCreateUsers waited for it.
const seat = `
WITH written AS (
    INSERT INTO attendances (run_id, user_id, ticket)
    SELECT won.run_id, u.id, won.ticket
    FROM unnest($1::integer[], $2::bigint[]) AS won (run_id, ticket)
    CROSS JOIN LATERAL (SELECT email_key FROM requests q WHERE q.run_id = won.run_id AND q.ticket = won.ticket LIMIT 1) q
    CROSS JOIN LATERAL (SELECT id FROM users u WHERE u.email_key = q.email_key LIMIT 1) u
    RETURNING 1
)
SELECT 1 / (count(*) = cardinality($1))::integer FROM written`

// decide writes one run's outcomes, which are those of the tickets after $2 in
// order, and moves its line on. One statement per run, because a range of one
// run's tickets is the cheapest thing to find and to plan for. A clock that was
// set back must not undo the order of the two instants.
const decide = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), decided AS (
    UPDATE requests q
    SET status = ($3::text[])[q.ticket - $2], reason = nullif(($4::text[])[q.ticket - $2], ''),
        decided_at = greatest((SELECT now FROM clock), q.accepted_at)
    WHERE q.run_id = $1 AND q.ticket > $2 AND q.ticket <= $2 + cardinality($3::text[]) AND q.status = 'queued'
    RETURNING 1
), advanced AS (
    UPDATE runs SET attendances_count = $5, settled_ticket = $2 + cardinality($3::text[])
    WHERE id = $1 AND settled_ticket = $2
    RETURNING 1
)
SELECT 1 / ((SELECT count(*) FROM decided) = cardinality($3::text[]) AND (SELECT count(*) FROM advanced) = 1)::integer`

// Settle decides the next requests of the runs' lines, at most budget in all,
// in one transaction of two round trips. It returns the progress of each run
// that it could lock; for a run that is missing, somebody else is settling it
// at this instant.
//
// Settling is safe to repeat, to interrupt and to do twice at once: it starts
// from the settled ticket that it reads under the run's lock. After an error
// nothing is known about the outcome; settle again to find out.
func (s *Store) Settle(ctx context.Context, runs []enroll.RunID, budget int) (map[enroll.RunID]enroll.Progress, error) {
	const doing = "settling"
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, translate(doing, err)
	}
	// Released inside its transaction, a connection is closed by the pool, and
	// the server rolls back.
	defer conn.Release()

	perRun := max(budget/len(runs), 1)
	batch := &pgx.Batch{}
	batch.Queue("begin")
	var locked []lockedRun
	batch.Queue(lockRuns, runs).Query(func(rows pgx.Rows) (err error) {
		locked, err = pgx.CollectRows(rows, scanLockedRun)
		return err
	})
	lines := make(map[enroll.RunID][]enroll.Request, len(runs))
	batch.Queue(nextRequests, runs, perRun).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var run enroll.RunID
			var r enroll.Request
			if err := rows.Scan(&run, &r.Ticket, &r.Key, &r.Holds); err != nil {
				return err
			}
			lines[run] = append(lines[run], r)
		}
		return rows.Err()
	})
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, translate(doing, err)
	}

	writes := &pgx.Batch{}
	var wonRuns []enroll.RunID
	var wonTickets []int64
	progress := make(map[enroll.RunID]enroll.Progress, len(locked))
	for _, run := range locked {
		requests := lines[run.id]
		for i, r := range requests {
			if want := run.settled + 1 + int64(i); r.Ticket != want {
				return nil, enroll.Errorf(enroll.Internal, "%s run %d: the line has a hole: ticket %d stands where %d belongs", doing, run.id, r.Ticket, want)
			}
		}
		progress[run.id] = enroll.Progress{
			First: run.settled + 1, Last: run.settled + int64(len(requests)), More: len(requests) == perRun,
		}
		if len(requests) == 0 {
			continue
		}
		seats, outcomes := enroll.Settle(run.seats, requests)
		statuses, reasons := make([]enroll.Status, len(outcomes)), make([]enroll.Reason, len(outcomes))
		for i, o := range outcomes {
			statuses[i], reasons[i] = o.Status, o.Reason
			if o.Status == enroll.Confirmed {
				wonRuns, wonTickets = append(wonRuns, run.id), append(wonTickets, o.Ticket)
			}
		}
		writes.Queue(decide, run.id, run.settled, statuses, reasons, seats.Taken)
	}
	if len(wonRuns) > 0 {
		writes.Queue(findOrCreateUsers, wonRuns, wonTickets)
		writes.Queue(seat, wonRuns, wonTickets)
	}
	writes.Queue("commit")
	if err := conn.SendBatch(ctx, writes).Close(); err != nil {
		return nil, translate(doing, err)
	}
	return progress, nil
}

type lockedRun struct {
	id      enroll.RunID
	seats   enroll.Seats
	settled int64
}

func scanLockedRun(row pgx.CollectableRow) (r lockedRun, err error) {
	err = row.Scan(&r.id, &r.seats.Capacity, &r.seats.Taken, &r.settled)
	return r, err
}
