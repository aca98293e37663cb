package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/doctor"
)

// runToCheck reads a run's row, the head of its line, and how many rows belong to
// it. Counting walks an index along the run's part.
const runToCheck = `
SELECT r.id, r.slug, r.capacity, r.waitlist_capacity, r.attendances_count, r.waiting_count, r.waitlist_ended, r.called_off,
       r.first_capacity, r.first_waitlist_capacity, r.settled_ticket,
       l.last_ticket IS NOT NULL, coalesce(l.last_ticket, 0), nullif(l.last_accepted_at, '-infinity'),
       (SELECT count(*) FROM attendances a WHERE a.run_id = r.id), (SELECT count(*) FROM waiting w WHERE w.run_id = r.id),
       CASE WHEN NOT r.waitlist_ended AND r.waiting_count > 0
            THEN greatest(now() - least(coalesce(r.promote_until, r.starts_at), r.ends_at), interval '0') ELSE interval '0' END,
       r.location, r.time_zone, c.slug, c.title, c.description, c.organiser, c.reply_to
FROM runs r
JOIN courses c ON c.id = r.course_id
LEFT JOIN LATERAL (SELECT last_ticket, last_accepted_at FROM lines l WHERE l.run_id = r.id LIMIT 1) l ON true
WHERE r.slug = $1`

// entriesToCheck reads the line after $2 with what each request holds. All
// lookups are bounded by a LIMIT on a unique key, which keeps them on their
// indexes.
const entriesToCheck = `
SELECT q.ticket, q.kind, coalesce(q.email_key, ''), q.waitlist_limit, coalesce(q.target, 0), q.late, q.by_organiser, q.change,
       q.status, coalesce(q.reason, ''), q.accepted_at, coalesce(q.corrected_after, 0),
       a.user_id IS NOT NULL, w.user_id IS NOT NULL,
       coalesce(a.user_id, w.user_id) IS NOT NULL AND u.email_key IS DISTINCT FROM q.email_key, coalesce(b.yes, false)
FROM (SELECT * FROM requests q WHERE q.run_id = $1 AND q.ticket > $2 ORDER BY q.ticket LIMIT $3) q
LEFT JOIN LATERAL (SELECT user_id FROM attendances a WHERE a.run_id = q.run_id AND a.ticket = q.ticket LIMIT 1) a ON true
LEFT JOIN LATERAL (SELECT user_id FROM waiting w WHERE w.run_id = q.run_id AND w.ticket = q.ticket LIMIT 1) w ON true
LEFT JOIN LATERAL (SELECT email_key FROM users u WHERE u.id = coalesce(a.user_id, w.user_id) LIMIT 1) u ON true
LEFT JOIN LATERAL (SELECT true AS yes FROM waiting b WHERE b.run_id = q.run_id AND b.user_id = a.user_id LIMIT 1) b ON true
ORDER BY q.ticket`

// checkPage is how much of a line is read at once: it bounds the memory and the
// time of a statement.
const checkPage = 5000

// Slugs returns the slugs of all runs, those that are over too, in order.
func (s *Store) Slugs(ctx context.Context) ([]string, error) {
	return collect(ctx, s, "reading runs", pgx.RowTo[string], `SELECT slug FROM runs ORDER BY slug`)
}

// CheckUp holds the run against the rules and returns what is wrong. It reads
// one snapshot and locks nothing. The error has code NotFound if there is no
// such run.
func (s *Store) CheckUp(ctx context.Context, slug string) ([]doctor.Finding, error) {
	const doing = "checking a run"
	// Repeatable read: settling and accepting go on, and each is seen whole or
	// not at all.
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, translate(doing, err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // it wrote nothing
	rows, err := tx.Query(ctx, runToCheck, slug)
	if err != nil {
		return nil, translate(doing, err)
	}
	run, err := pgx.CollectExactlyOneRow(rows, scanRunToCheck)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, notFound("run")
	} else if err != nil {
		return nil, translate(doing, err)
	}
	c := doctor.NewCheckup(run)
	for after, more := int64(0), true; more; {
		rows, err := tx.Query(ctx, entriesToCheck, run.ID, after, checkPage)
		if err != nil {
			return nil, translate(doing, err)
		}
		page, err := pgx.CollectRows(rows, scanEntryToCheck)
		if err != nil {
			return nil, translate(doing, err)
		}
		for _, e := range page {
			c.Next(e)
			after = e.Ticket
		}
		more = len(page) == checkPage
	}
	return c.End(), nil
}

func scanRunToCheck(row pgx.CollectableRow) (r doctor.Run, err error) {
	var accepted *time.Time
	is, first, course := &r.Counts, &r.FirstCounts, &r.Course
	err = row.Scan(&r.ID, &r.Slug, &is.Capacity, &is.WaitlistCapacity, &is.Taken, &is.Waiting, &is.WaitlistEnded, &is.CalledOff,
		&first.Capacity, &first.WaitlistCapacity, &r.Settled, &r.HasLine, &r.Last, &accepted, &r.Seats, &r.Places, &r.ListOverdue,
		&r.Location, &r.TimeZone, &course.Slug, &course.Title, &course.Description, &course.Organiser, &course.ReplyTo)
	if accepted != nil {
		r.LastAcceptedAt = *accepted
	}
	return r, err
}

func scanEntryToCheck(row pgx.CollectableRow) (e doctor.Entry, err error) {
	var change []byte
	if err := row.Scan(&e.Ticket, &e.Kind, &e.Key, &e.WaitlistLimit, &e.Target.Ticket, &e.Late, &e.ByOrganiser, &change,
		&e.Status, &e.Reason, &e.AcceptedAt, &e.CorrectedAfter, &e.Seat, &e.Place, &e.Other, &e.Both); err != nil {
		return e, err
	}
	if change != nil {
		e.Change, err = parseChange(change)
	}
	return e, err
}

var _ doctor.Ledger = (*Store)(nil)
