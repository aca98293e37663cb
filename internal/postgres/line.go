package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// lockLines locks the heads of the lines in run order, so that two gatherings
// that share several runs never wait for each other in a circle. NO KEY: the
// foreign key of requests must not wait for it.
const lockLines = `
SELECT run_id
FROM lines
WHERE run_id = ANY(ARRAY(SELECT id FROM runs WHERE slug = ANY($1)))
ORDER BY run_id
FOR NO KEY UPDATE`

// acceptRequests must be a statement of its own, after lockLines: a statement's
// snapshot is older than the lock it waits for, and in one statement with the
// lock it would number from a last_ticket that is no longer the last.
//
// It leaves out what is in the line already (by id: a gathering that is tried
// again after a broken connection; by key: a client that asks again), judges
// the window by one instant per line that never runs backwards, numbers the
// rest in the order they came, and returns a row for each that was asked for a
// run that exists.
const acceptRequests = `
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[])
        WITH ORDINALITY AS a (id, slug, name, email, email_key, idempotency_key, language, notify, place)
), clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), judged AS MATERIALIZED (
    SELECT a.*, r.id AS run_id, r.opens_at, r.closes_at, r.settled_ticket, l.last_ticket,
           greatest(clock.now, l.last_accepted_at) AS judged_at, seen.ticket AS seen_ticket
    FROM asked a
    CROSS JOIN clock
    CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.slug = a.slug LIMIT 1) r
    CROSS JOIN LATERAL (SELECT * FROM lines l WHERE l.run_id = r.id LIMIT 1) l
    LEFT JOIN LATERAL (
        (SELECT q.ticket FROM requests q WHERE q.id = a.id)
        UNION ALL
        (SELECT q.ticket FROM requests q WHERE q.run_id = r.id AND q.idempotency_key = a.idempotency_key)
        LIMIT 1
    ) seen ON true
), numbered AS MATERIALIZED (
    SELECT place, run_id, judged_at,
           last_ticket + row_number() OVER (PARTITION BY run_id ORDER BY place) AS ticket
    FROM judged
    WHERE seen_ticket IS NULL AND judged_at >= opens_at AND judged_at < closes_at
), heads AS MATERIALIZED (
    SELECT run_id, max(ticket) AS last_ticket, max(judged_at) AS judged_at FROM numbered GROUP BY run_id
), inserted AS (
    INSERT INTO requests (run_id, ticket, id, kind, name, email, email_key, idempotency_key, language, notify, accepted_at)
    SELECT n.run_id, n.ticket, j.id, 'register', j.name, j.email, j.email_key, j.idempotency_key, j.language, j.notify, n.judged_at
    FROM numbered n JOIN judged j USING (place)
    ORDER BY n.place
), moved AS (
    UPDATE lines l SET last_ticket = h.last_ticket, last_accepted_at = h.judged_at
    FROM heads h
    WHERE l.run_id = h.run_id AND l.run_id = ANY(ARRAY(SELECT run_id FROM heads)) -- for the index
)
SELECT j.place, j.run_id, j.opens_at, j.closes_at, j.settled_ticket, j.judged_at, n.ticket,
       q.id, q.ticket, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at, q.name, q.email,
       coalesce(q.language, ''), coalesce(q.notify, false)
FROM judged j
LEFT JOIN numbered n USING (place)
LEFT JOIN LATERAL (SELECT * FROM requests q WHERE q.run_id = j.run_id AND q.ticket = j.seen_ticket LIMIT 1) q ON true`

// Accept gives every application that can be accepted the next ticket of its
// run's line, in the order given, in one transaction and one round trip. It
// returns one verdict per application, in the same order.
//
// Two applications of one call must not share run and IdempotencyKey. Calling
// it again with the same applications accepts each once.
//
// An error means that no application was accepted, except with code
// OutcomeUnknown: then all were, or none. Its other codes are Unavailable,
// LineBlocked (of one of the lines) and Internal (one of them cannot be stored).
func (s *Store) Accept(ctx context.Context, applications []enroll.Application) ([]enroll.Verdict, error) {
	const doing = "accepting requests"
	n := len(applications)
	var (
		ids    = make([]uuid.UUID, n)
		runs   = make([]string, n)
		names  = make([]string, n)
		emails = make([]string, n)
		keys   = make([]string, n)
		idem   = make([]*string, n)
		langs  = make([]*enroll.Language, n)
		notify = make([]bool, n)
	)
	for i, a := range applications {
		ids[i], runs[i], names[i], emails[i], keys[i] = a.ID, a.Run, string(a.Name), a.Address.Typed, string(a.Address.Key)
		if a.IdempotencyKey != "" {
			idem[i] = &applications[i].IdempotencyKey
		}
		if a.Language != "" {
			langs[i] = &applications[i].Language
		}
		notify[i] = a.Notify
	}

	verdicts := make([]enroll.Verdict, n)
	for i := range verdicts {
		verdicts[i].Err = notFound("run") // unless a row says otherwise
	}
	batch := &pgx.Batch{} // one implicit transaction: it ends with the batch
	batch.Queue(lockLines, runs)
	batch.Queue(acceptRequests, ids, runs, names, emails, keys, idem, langs, notify).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var j judged
			if err := j.scan(rows); err != nil {
				return err
			}
			verdicts[j.place-1] = j.verdict(applications[j.place-1])
		}
		return rows.Err()
	})
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, &enroll.Error{Code: enroll.Unavailable, Err: fmt.Errorf("%s: %w", doing, err)} // nothing was sent
	}
	defer conn.Release()
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, commitFailure(doing, err)
	}
	return verdicts, nil
}

// judged is a row of acceptRequests.
type judged struct {
	place             int
	run               enroll.RunID
	opens, closes, at time.Time
	settled           int64
	ticket            *int64 // if it was accepted now

	// The request that is in the line already, or nothing.
	id          *uuid.UUID
	seen        *int64
	status      *enroll.Status
	reason      enroll.Reason
	accepted    *time.Time
	decided     *time.Time
	name, email *string
	language    enroll.Language
	notify      bool
}

func (j *judged) scan(rows pgx.Rows) error {
	return rows.Scan(&j.place, &j.run, &j.opens, &j.closes, &j.settled, &j.at, &j.ticket,
		&j.id, &j.seen, &j.status, &j.reason, &j.accepted, &j.decided, &j.name, &j.email, &j.language, &j.notify)
}

func (j *judged) verdict(a enroll.Application) enroll.Verdict {
	r := enroll.Registration{ID: a.ID, RunID: j.run, Run: a.Run, Status: enroll.Queued, SettledTicket: j.settled}
	switch {
	case j.ticket != nil:
		r.Ticket, r.AcceptedAt = *j.ticket, j.at
		return enroll.Verdict{Receipt: enroll.ReceiptFor(a, r)}
	case j.seen != nil:
		r.ID, r.Ticket, r.Status, r.Reason, r.AcceptedAt = *j.id, *j.seen, *j.status, j.reason, *j.accepted
		if j.decided != nil {
			r.DecidedAt = *j.decided
		}
		return enroll.Verdict{Receipt: enroll.Receipt{
			Registration: r, Name: enroll.Name(*j.name), Email: *j.email, Language: j.language, Notify: j.notify,
			Again: *j.id != a.ID,
		}}
	}
	return enroll.Verdict{Err: enroll.OutsideWindow(j.at, j.opens, j.closes)}
}

// linesBehind finds the lines whose head has been waiting for $1, and with
// amongThese only among the runs $2. Without it, it looks at every run's two
// counters, which is cheap (10 000 runs in a few milliseconds) and forgets none,
// however long ago the run was. A head from the future waits, too: the clock was
// set back since.
const (
	linesBehind = `
SELECT r.id, r.slug, clock.now - q.accepted_at
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

// LinesBehind returns the lines whose first undecided request was accepted at
// least age ago, or at an instant that is yet to come, the oldest first: among
// the given runs, or among all if runs is nil.
func (s *Store) LinesBehind(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Behind, error) {
	sql, args := linesBehind+oldestFirst, []any{age}
	if runs != nil {
		sql, args = linesBehind+amongThese+oldestFirst, []any{age, runs}
	}
	return collect(ctx, s, "looking for lines that wait", func(row pgx.CollectableRow) (b enroll.Behind, err error) {
		err = row.Scan(&b.RunID, &b.Run, &b.Age)
		return b, err
	}, sql, args...)
}
