package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
)

// lockLines locks the heads of the lines in run order, so that two batches
// that share several runs never wait for each other in a circle. NO KEY: no key
// changes.
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
// It leaves out what is in the line already (by id, if $14: a batch that is
// tried again after a broken connection, which a correction may have given another
// id since; by key: a client that asks again), judges the rest by one instant per
// line that never runs backwards, and numbers what is not refused in the order it
// came. It returns a row for each run with the ordinals and tickets of those that
// were accepted, and one for each that was not, unless there is no such run.
//
// What it refuses, and what it stores as late, is what enroll.Life says: see the
// table of a run's life in docs/design.md. To the public, a draft is no run. Only a cancel that a person sends after
// the begin looks at its target.
const acceptRequests = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), judged AS (
    SELECT a.*, r.id AS run_id, r.opens_at, r.closes_at, r.settled_ticket, l.last_ticket,
           j.judged_at, seen.ticket AS seen_ticket, j.judged_at >= least(coalesce(r.promote_until, r.starts_at), r.ends_at) AS late,
           CASE a.kind
               WHEN 'register' THEN CASE
                   WHEN r.state = 'draft' THEN 'draft'
                   WHEN r.called_off THEN 'called_off'
                   WHEN j.judged_at >= r.ends_at THEN 'over'
                   WHEN a.outside_window THEN ''
                   WHEN j.judged_at < r.opens_at THEN 'not_open'
                   WHEN j.judged_at >= r.closes_at THEN 'closed'
                   ELSE '' END
               WHEN 'cancel' THEN CASE
                   WHEN a.shown_id <> '00000000-0000-0000-0000-000000000000'
                       AND a.shown_id <> (SELECT t.id FROM requests t WHERE t.run_id = r.id AND t.ticket = a.target) THEN 'corrected'
                   WHEN a.by_organiser OR j.judged_at < r.starts_at THEN ''
                   WHEN (SELECT t.status FROM requests t WHERE t.run_id = r.id AND t.ticket = a.target) = 'confirmed' THEN 'begun'
                   ELSE '' END
               ELSE '' END AS refusal
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[],
                $9::text[], $10::integer[], $11::bigint[], $12::boolean[], $13::jsonb[], $15::boolean[], $16::uuid[], $17::bytea[],
                $18::integer[], $19::integer[])
        WITH ORDINALITY AS a (id, slug, name, email, email_key, idempotency_key, language, notify,
                              kind, waitlist_limit, target, by_organiser, change, outside_window, shown_id, digest,
                              account_id, token_id, ordinal)
    CROSS JOIN clock
    CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.slug = a.slug AND (r.state <> 'draft' OR a.by_organiser) LIMIT 1) r
    CROSS JOIN LATERAL (SELECT * FROM lines l WHERE l.run_id = r.id LIMIT 1) l
    CROSS JOIN LATERAL (SELECT greatest(clock.now, l.last_accepted_at) AS judged_at) j
    LEFT JOIN LATERAL (
        (SELECT q.ticket FROM requests q WHERE $14 AND q.id = a.id)
        UNION ALL
        (SELECT i.ticket FROM retired_ids i WHERE $14 AND i.id = a.id)
        UNION ALL
        (SELECT q.ticket FROM requests q WHERE q.run_id = r.id AND q.idempotency_key = a.idempotency_key)
        LIMIT 1
    ) seen ON true
), numbered AS MATERIALIZED ( -- without a ticket if it is refused, or there already
    SELECT j.*, CASE WHEN fresh THEN last_ticket + count(*) FILTER (WHERE fresh) OVER (PARTITION BY run_id ORDER BY ordinal ROWS UNBOUNDED PRECEDING) END AS ticket
    FROM (SELECT *, seen_ticket IS NULL AND refusal = '' AS fresh FROM judged) j
), inserted AS (
    INSERT INTO requests (run_id, ticket, id, kind, name, email, email_key, idempotency_key, language, notify,
                          waitlist_limit, target, late, by_organiser, change, digest, account_id, token_id, accepted_at)
    SELECT run_id, ticket, id, kind, name, email, email_key, idempotency_key, language, notify,
           waitlist_limit, target, late, by_organiser, change, digest, nullif(account_id, 0), nullif(token_id, 0), judged_at
    FROM numbered
    WHERE ticket IS NOT NULL
), heads AS MATERIALIZED (
    SELECT run_id, max(ticket) AS last_ticket, max(judged_at) AS judged_at, max(settled_ticket) AS settled_ticket,
           array_agg(ordinal) AS ordinals, array_agg(ticket) AS tickets
    FROM numbered
    WHERE ticket IS NOT NULL
    GROUP BY run_id
), moved AS (
    UPDATE lines l SET last_ticket = h.last_ticket, last_accepted_at = h.judged_at
    FROM heads h
    CROSS JOIN LATERAL (SELECT o.ctid AS at FROM lines o WHERE o.run_id = h.run_id LIMIT 1) o
    WHERE l.ctid = o.at -- which has one plan: see db.go
)
SELECT run_id, judged_at, settled_ticket, ordinals, tickets,
       '', judged_at, judged_at, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL, NULL, '', false, NULL, 0, NULL, false
FROM heads
UNION ALL
SELECT j.run_id, j.judged_at, j.settled_ticket, ARRAY[j.ordinal], NULL,
       j.refusal, j.opens_at, j.closes_at, q.id, q.ticket, q.kind, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at, q.name, q.email,
       coalesce(q.language, ''), coalesce(q.notify, false), q.waitlist_limit, coalesce(q.target, 0),
       q.digest, i.yes IS NOT NULL
FROM numbered j
LEFT JOIN LATERAL (SELECT * FROM requests q WHERE q.run_id = j.run_id AND q.ticket = j.seen_ticket LIMIT 1) q ON true
LEFT JOIN LATERAL (SELECT true AS yes FROM retired_ids i WHERE i.run_id = j.run_id AND i.ticket = j.seen_ticket LIMIT 1) i ON true
WHERE j.ticket IS NULL`

// Accept gives every submission that can be accepted the next ticket of its
// run's line, in the order given, in one transaction and one round trip. It
// returns one result per submission, in the same order.
//
// Two submissions of one call must not share run and IdempotencyKey.
//
// An error means that no submission was accepted, except with code
// OutcomeUnknown: then all were, or none, and AcceptAgain finds out. Its other
// codes are Unavailable, LineBlocked (of one of the lines) and Internal (one of
// them cannot be stored).
func (s *Store) Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	return s.accept(ctx, submissions, false)
}

// AcceptAgain is Accept for submissions that may be in their lines already,
// since the outcome of an earlier call is unknown: each is accepted once. Looking
// for them is a twentieth of what accepting costs.
func (s *Store) AcceptAgain(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	return s.accept(ctx, submissions, true)
}

func (s *Store) accept(ctx context.Context, submissions []enroll.Submission, again bool) ([]enroll.AcceptResult, error) {
	const doing = "accepting requests"
	c := columnsOf(submissions)

	results := make([]enroll.AcceptResult, len(submissions))
	for i := range results {
		results[i].Err = notFound("run") // unless a row says otherwise
	}
	batch := &pgx.Batch{} // one implicit transaction: it ends with the batch
	locked := s.queueLock(batch, lockLines, c.runs)
	batch.Queue(acceptRequests, c.ids, c.runs, c.names, c.emails, c.keys, c.idempotencyKeys, c.languages, c.notify,
		c.kinds, c.limits, c.targets, c.organisers, c.changes, again, c.outside, c.shown, c.digests, c.accounts, c.tokens).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var j judged
			if err := j.scan(rows); err != nil {
				return err
			}
			for i, ordinal := range j.ordinals {
				results[ordinal-1] = j.result(i, submissions[ordinal-1])
			}
		}
		return rows.Err()
	})
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, &enroll.Error{Code: enroll.Unavailable, Err: fmt.Errorf("%s: %w", doing, err)} // nothing was sent
	}
	defer conn.Release()
	crashpoint.Here(crashpoint.AcceptBegun)
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, commitFailure(doing, err, *locked)
	}
	return results, nil
}

// columns are submissions as arrays for acceptRequests. What a kind has not is
// NULL. They have types that the driver encodes without looking at each value by
// reflection, which took a twentieth of an API's processor.
type columns struct {
	ids             [][16]byte
	runs            []string
	kinds           []string
	names           []*string
	emails          []*string
	keys            []*string
	idempotencyKeys []*string
	languages       []*string
	notify          []bool
	limits          []*int
	targets         []*int64
	organisers      []bool
	changes         [][]byte // JSON
	outside         []bool
	shown           [][16]byte // zero = none
	digests         [][]byte
	accounts        []int32 // 0 = none
	tokens          []int32
}

func columnsOf(submissions []enroll.Submission) (c columns) {
	for _, sub := range submissions {
		c.ids = append(c.ids, sub.ID)
		c.runs = append(c.runs, sub.Run)
		c.kinds = append(c.kinds, string(sub.Kind))
		c.names = append(c.names, unlessZero(string(sub.Name)))
		c.emails = append(c.emails, unlessZero(sub.Address.Typed))
		c.keys = append(c.keys, unlessZero(string(sub.Address.Key)))
		c.idempotencyKeys = append(c.idempotencyKeys, unlessZero(sub.IdempotencyKey))
		c.languages = append(c.languages, unlessZero(string(sub.Language)))
		c.notify = append(c.notify, sub.Notify)
		c.limits = append(c.limits, sub.WaitlistLimit)
		c.targets = append(c.targets, unlessZero(sub.Target))
		c.organisers = append(c.organisers, sub.ByOrganiser)
		c.changes = append(c.changes, changeJSON(sub))
		c.outside = append(c.outside, sub.OutsideWindow)
		c.shown = append(c.shown, sub.Shown)
		c.digests = append(c.digests, digestBytes(sub.Digest))
		c.accounts = append(c.accounts, sub.By.Account)
		c.tokens = append(c.tokens, sub.By.Token)
	}
	return c
}

// unlessZero returns a pointer to the value, or nil for the zero value.
func unlessZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// judged is a row of acceptRequests: of some that were accepted, or of one that was
// not.
type judged struct {
	run      enroll.RunID
	at       time.Time
	settled  int64
	ordinals []int64 // among the submissions, 1 = the first
	tickets  []int64 // of those at the ordinals, if they were accepted now

	refusal       enroll.Code
	opens, closes time.Time // of the run, where that is what refuses it

	// The request that is in the line already, or nothing.
	id          *uuid.UUID
	seen        *int64
	kind        *enroll.Kind
	status      *enroll.Status
	reason      enroll.Reason
	accepted    *time.Time
	decided     *time.Time
	name, email *string
	language    enroll.Language
	notify      bool
	limit       *int
	target      int64
	digest      []byte
	corrected   bool
}

func (j *judged) scan(rows pgx.Rows) error {
	return rows.Scan(&j.run, &j.at, &j.settled, &j.ordinals, &j.tickets, &j.refusal, &j.opens, &j.closes,
		&j.id, &j.seen, &j.kind, &j.status, &j.reason, &j.accepted, &j.decided, &j.name, &j.email, &j.language, &j.notify,
		&j.limit, &j.target, &j.digest, &j.corrected)
}

// result returns that of the submission at index i of the row.
func (j *judged) result(i int, sub enroll.Submission) enroll.AcceptResult {
	r := enroll.Registration{ID: sub.ID, RunID: j.run, Run: sub.Run, Status: enroll.Queued, SettledTicket: j.settled}
	switch {
	case j.tickets != nil:
		r.Ticket, r.AcceptedAt = j.tickets[i], j.at
		return enroll.AcceptResult{Receipt: enroll.ReceiptFor(sub, r)}
	case j.seen != nil:
		r.ID, r.Ticket, r.Status, r.Reason, r.AcceptedAt = *j.id, *j.seen, *j.status, j.reason, *j.accepted
		if j.decided != nil {
			r.DecidedAt = *j.decided
		}
		seen := enroll.Receipt{
			Registration: r, Kind: *j.kind, Language: j.language, Notify: j.notify, WaitlistLimit: j.limit, Target: j.target,
			Digest: enroll.Digest(j.digest), Again: *j.id != sub.ID, Corrected: j.corrected,
		}
		if j.name != nil {
			seen.Name, seen.Email = enroll.Name(*j.name), *j.email
		}
		return enroll.AcceptResult{Receipt: seen}
	case j.refusal == enroll.Corrected:
		return enroll.AcceptResult{Err: enroll.ErrCorrected}
	default:
		return enroll.AcceptResult{Err: enroll.Refused(j.refusal, enroll.WindowTimes{Now: j.at, OpensAt: j.opens, ClosesAt: j.closes})}
	}
}
