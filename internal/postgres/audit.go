package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lastseat/lastseat/internal/access"
)

// insertAudit writes an entry for a caller, unless its run or its course does not
// exist.
const insertAudit = `
INSERT INTO audit (account_id, token_id, client, action, course_id, run_id, ticket, about_account_id, about_token_id, details)
SELECT nullif($1, 0), nullif($2, 0), $3, $4, coalesce(r.course_id, c.id), r.id, nullif($7, 0), nullif($8, 0), nullif($9, 0), $10
FROM (SELECT) one
LEFT JOIN runs r ON r.slug = $6
LEFT JOIN courses c ON c.slug = $5
WHERE ($6 = '' OR r.id IS NOT NULL) AND ($5 = '' OR c.id IS NOT NULL)`

// auditArgs returns the arguments of insertAudit.
func auditArgs(by access.Caller, e access.Entry) []any {
	details := []byte("{}")
	if e.Details != nil {
		var err error
		if details, err = json.Marshal(e.Details); err != nil {
			panic(err) // settings, and names of fields
		}
	}
	var client *netip.Prefix
	if by.Client.IsValid() {
		client = &by.Client
	}
	return []any{int32(by.Account), int32(by.Token.ID), client, e.Action, e.Course, e.Run, e.Ticket, int32(e.AboutAccount), int32(e.AboutToken), details}
}

// audit writes an entry in the transaction that does what it records.
func audit(ctx context.Context, tx pgx.Tx, by access.Caller, e access.Entry) error {
	_, err := tx.Exec(ctx, insertAudit, auditArgs(by, e)...)
	return err
}

// queueAudit is audit for a batch.
func queueAudit(b *pgx.Batch, by access.Caller, e access.Entry) {
	b.Queue(insertAudit, auditArgs(by, e)...)
}

// Record writes an entry about something that changes nothing: that a caller reads
// a list of people. The error has code NotFound if its run does not exist.
func (s *Store) Record(ctx context.Context, by access.Caller, e access.Entry) error {
	var tag pgconn.CommandTag
	tag, err := s.pool.Exec(ctx, insertAudit, auditArgs(by, e)...)
	if err != nil {
		return translate("recording what a caller reads", err)
	}
	if tag.RowsAffected() == 0 {
		return notFound("run")
	}
	return nil
}

// selectAudit reads entries, and the requests that organisers put in lines, from
// both sides in the same order, so that each reads one page at most.
const selectAudit = `
SELECT e.at, e.line, e.number, coalesce(e.account_id, 0), coalesce(e.token_id, 0), e.client, e.action,
       coalesce(c.slug, ''), coalesce(r.slug, ''), coalesce(e.ticket, 0), coalesce(e.about_account_id, 0), coalesce(e.about_token_id, 0), e.details
FROM (
    (SELECT at, 0 AS line, id AS number, account_id, token_id, client, action, course_id, run_id, ticket, about_account_id, about_token_id, details
     FROM audit
     WHERE at <= $1 AND (at, 0, id) < ($1, $2, $3) AND ($7 OR course_id IS NOT NULL)
       AND ($4::integer[] IS NULL OR course_id = ANY($4)) AND ($5::integer IS NULL OR run_id = $5)
     ORDER BY at DESC, id DESC LIMIT $6)
    UNION ALL
    (SELECT q.accepted_at, q.run_id, q.ticket, q.account_id, q.token_id, NULL, q.kind, r.course_id, q.run_id, q.ticket, NULL, NULL,
            jsonb_strip_nulls(jsonb_build_object('target', q.target)) || coalesce(jsonb_build_object('change', q.change), '{}')
     FROM requests q JOIN runs r ON r.id = q.run_id
     WHERE q.account_id IS NOT NULL AND (q.accepted_at, q.run_id, q.ticket) < ($1, $2, $3)
       AND ($4::integer[] IS NULL OR r.course_id = ANY($4)) AND ($5::integer IS NULL OR q.run_id = $5)
     ORDER BY q.accepted_at DESC, q.run_id DESC, q.ticket DESC LIMIT $6)
) e
LEFT JOIN courses c ON c.id = e.course_id
LEFT JOIN runs r ON r.id = e.run_id
ORDER BY e.at DESC, e.line DESC, e.number DESC LIMIT $6`

// Audit returns the entries that the query asks for, the newest first. The error
// has code NotFound if its run does not exist.
func (s *Store) Audit(ctx context.Context, q access.AuditQuery) ([]access.Entry, error) {
	var courses []int32
	var run *int32
	if q.Run != "" {
		found, err := s.Run(ctx, q.Run)
		if err != nil {
			return nil, err
		}
		id := int32(found.ID)
		run = &id
	}
	if q.Courses != nil {
		var err error
		if courses, err = collect(ctx, s, "reading courses", pgx.RowTo[int32], `SELECT id FROM courses WHERE slug = ANY($1)`, q.Courses); err != nil {
			return nil, err
		}
		courses = append([]int32{}, courses...) // none is not all
	}
	at := q.After.At
	if at.IsZero() {
		at = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return collect(ctx, s, "reading the audit", scanEntryOfAudit, selectAudit, at, q.After.Line, q.After.Number, courses, run, q.Most, q.Accounts)
}

func scanEntryOfAudit(row pgx.CollectableRow) (e access.Entry, err error) {
	var client *netip.Prefix
	var details []byte
	if err := row.Scan(&e.ID.At, &e.ID.Line, &e.ID.Number, &e.Account, &e.Token, &client, &e.Action,
		&e.Course, &e.Run, &e.Ticket, &e.AboutAccount, &e.AboutToken, &details); err != nil {
		return e, err
	}
	e.At, e.Client = e.ID.At, orZero(client)
	if err := json.Unmarshal(details, &e.Details); err != nil {
		return e, fmt.Errorf("reading the details of an entry: %w", err)
	}
	return e, nil
}

// PruneAudit removes the entries that are older than so many days, 30 or more, and
// returns how many there were. Requests stay in their lines.
func (s *Store) PruneAudit(ctx context.Context, days int) (pruned int64, err error) {
	const slice = 10_000 // rows of a transaction
	for {
		var tag pgconn.CommandTag
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
			if _, err := tx.Exec(ctx, `SELECT set_config('lastseat.prune_audit', 'on', true)`); err != nil {
				return err
			}
			tag, err = tx.Exec(ctx, `
				DELETE FROM audit WHERE id = ANY(ARRAY(SELECT id FROM audit WHERE at < now() - $1 * interval '1 day' ORDER BY at, id LIMIT $2))`, days, slice)
			return err
		})
		if err != nil {
			return pruned, translate("pruning the audit", err)
		}
		pruned += tag.RowsAffected()
		if tag.RowsAffected() < slice {
			return pruned, nil
		}
	}
}
