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
// address holds a seat and whether a refusal is told by mail: by request, or
// after $3, when nobody watches the status any more. A statement of its own,
// after lockRuns, so that its snapshot has everything the previous settler wrote.
// Both laterals are bounded by a LIMIT, which keeps them on their indexes: the
// cost depends on the number of requests and never on the size of the run or of a
// table.
const nextRequests = `
SELECT q.run_id, q.ticket, q.email_key, h.holds IS NOT NULL, q.notify OR clock_timestamp() - q.accepted_at > $3::interval
FROM runs r
CROSS JOIN LATERAL (
    SELECT q.run_id, q.ticket, q.email_key, q.notify, q.accepted_at FROM requests q
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

// Settle decides the next requests of the runs' lines, at most terms.Budget in
// all, in one transaction of two round trips, and writes the mails that tell of
// it. It returns the progress of each run that it could lock; for a run that is
// missing, somebody else is settling it at this instant.
//
// Settling is safe to repeat, to interrupt and to do twice at once: it starts
// from the settled ticket that it reads under the run's lock. After an error
// nothing is known about the outcome; settle again to find out.
func (s *Store) Settle(ctx context.Context, runs []enroll.RunID, terms enroll.Terms) (map[enroll.RunID]enroll.Progress, error) {
	const doing = "settling"
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, translate(doing, err)
	}
	// Released inside its transaction, a connection is closed by the pool, and
	// the server rolls back.
	defer conn.Release()

	perRun := max(terms.Budget/len(runs), 1)
	batch := &pgx.Batch{}
	batch.Queue("begin")
	var locked []lockedRun
	batch.Queue(lockRuns, runs).Query(func(rows pgx.Rows) (err error) {
		locked, err = pgx.CollectRows(rows, scanLockedRun)
		return err
	})
	lines := make(map[enroll.RunID][]enroll.Request, len(runs))
	batch.Queue(nextRequests, runs, perRun, terms.LateAfter).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var run enroll.RunID
			var r enroll.Request
			if err := rows.Scan(&run, &r.Ticket, &r.Key, &r.Holds, &r.Notify); err != nil {
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
	var won, full, again places
	var told mails
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
				won.add(run.id, o.Ticket)
			}
			switch o.Mail {
			case "":
			case enroll.MailFull: // unless the address was told
				full.add(run.id, o.Ticket)
			case enroll.MailAlreadyRegistered: // to whoever holds the seat
				again.add(run.id, o.Ticket)
			default:
				told.kinds = append(told.kinds, o.Mail)
				told.add(run.id, o.Ticket)
			}
		}
		writes.Queue(decide, run.id, run.settled, statuses, reasons, seats.Taken)
	}
	if len(won.runs) > 0 {
		writes.Queue(findOrCreateUsers, won.runs, won.tickets)
		writes.Queue(seat, won.runs, won.tickets)
	}
	if len(told.kinds) > 0 {
		writes.Queue(tell, told.kinds, told.runs, told.tickets)
	}
	if len(full.runs) > 0 {
		writes.Queue(tellFull, full.runs, full.tickets, againAfter, enroll.MailFull)
	}
	if len(again.runs) > 0 { // after seat: it may have been given just now
		writes.Queue(tellHolders, again.runs, again.tickets, againAfter, enroll.MailAlreadyRegistered)
	}
	writes.Queue("commit")
	if err := conn.SendBatch(ctx, writes).Close(); err != nil {
		return nil, translate(doing, err)
	}
	return progress, nil
}

// places are places in lines, as two columns.
type places struct {
	runs    []enroll.RunID
	tickets []int64
}

func (p *places) add(run enroll.RunID, ticket int64) {
	p.runs, p.tickets = append(p.runs, run), append(p.tickets, ticket)
}

// mails are what is told to the people at these places.
type mails struct {
	places
	kinds []enroll.MailKind
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
