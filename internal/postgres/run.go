package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

const selectRuns = `
SELECT r.id, r.slug, c.slug, c.title, r.location, r.time_zone, r.starts_at, r.ends_at, r.capacity,
       r.waitlist_capacity, r.promote_until, r.waiting_count, r.waitlist_ended, r.called_off, r.opens_at, r.closes_at, r.language, c.organiser, c.reply_to, r.revision,
       r.attendances_count, r.state, r.version, l.last_ticket, r.settled_ticket, greatest(now(), l.last_accepted_at)
FROM runs r JOIN courses c ON c.id = r.course_id JOIN lines l ON l.run_id = r.id `

func scanRun(row pgx.CollectableRow) (r enroll.RunState, err error) {
	var until *time.Time
	err = row.Scan(&r.ID, &r.Slug, &r.Course, &r.Title, &r.Location, &r.TimeZone, &r.StartsAt, &r.EndsAt, &r.Capacity,
		&r.WaitlistCapacity, &until, &r.WaitingCount, &r.WaitlistEnded, &r.CalledOff,
		&r.OpensAt, &r.ClosesAt, &r.Language, &r.Organiser, &r.ReplyTo, &r.Revision,
		&r.AttendancesCount, &r.State, &r.Version, &r.LastTicket, &r.SettledTicket, &r.Now)
	if until != nil {
		r.PromoteUntil = *until
	}
	return r, err
}

// listRuns finds a page by the index on starts_at, and then reads the courses and
// lines of that page only.
const listRuns = selectRuns + `
WHERE r.id = ANY(ARRAY(
    SELECT id FROM runs
    WHERE (starts_at, slug) > ($3, $4) AND (ends_at > now() OR $6 <> 'published') AND state = $6
      AND ($7::text[] IS NULL OR course_id = ANY(ARRAY(SELECT id FROM courses WHERE slug = ANY($7))))
      AND ($1 = '' OR course_id = (SELECT id FROM courses WHERE slug = $1))
      AND (NOT $2 OR opens_at <= now() AND now() < closes_at AND NOT called_off)
    ORDER BY starts_at, slug LIMIT $5
))
ORDER BY r.starts_at, r.slug`

// Runs returns the runs that the query asks for, by start. Published ones are
// listed until they are over.
func (s *Store) Runs(ctx context.Context, q enroll.RunQuery) ([]enroll.RunState, error) {
	return collect(ctx, s, "reading runs", scanRun, listRuns, q.Course, q.Open, q.After.StartsAt, q.After.Slug, q.Most, cmp.Or(q.State, enroll.Published), q.Among)
}

// Run returns the run, or an error of code NotFound.
func (s *Store) Run(ctx context.Context, slug string) (enroll.RunState, error) {
	found, err := collect(ctx, s, "reading a run", scanRun, selectRuns+`WHERE r.slug = $1`, slug)
	if err == nil && len(found) == 0 {
		err = notFound("run")
	}
	if err != nil {
		return enroll.RunState{}, err
	}
	return found[0], nil
}

// insertRun adds a run with an empty line.
const insertRun = `
WITH created AS (
    INSERT INTO runs (course_id, slug, location, time_zone, starts_at, ends_at, capacity, opens_at, closes_at, language,
                      waitlist_capacity, promote_until, state)
    SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM courses WHERE slug = $1
    RETURNING id
)
INSERT INTO lines (run_id) SELECT id FROM created RETURNING run_id`

func insertRunArgs(r enroll.Run) []any {
	return []any{
		r.Course, r.Slug, r.Location, r.TimeZone, r.StartsAt, r.EndsAt, r.Capacity, r.OpensAt, r.ClosesAt, cmp.Or(r.Language, enroll.English),
		r.WaitlistCapacity, unlessZero(r.PromoteUntil), cmp.Or(r.State, enroll.Published),
	}
}

// CreateRun adds a run with an empty line and returns its id. The error has code
// Conflict if the slug is taken, Invalid if it can be none and NotFound if there is
// no such course.
func (s *Store) CreateRun(ctx context.Context, r enroll.Run) (enroll.RunID, error) {
	if _, err := enroll.ParseNewSlug(r.Slug); err != nil {
		return 0, err
	}
	rows, err := collect(ctx, s, "creating run "+r.Slug, pgx.RowTo[enroll.RunID], insertRun, insertRunArgs(r)...)
	if err == nil && len(rows) == 0 {
		err = notFound("course")
	}
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}

// listsToEnd skips the runs that have the request already, by its key $1, and
// those whose lines are held: they come next time, and hold up nobody else. The
// index is made for it.
const listsToEnd = `
SELECT r.slug
FROM runs r
LEFT JOIN LATERAL (
    SELECT true AS there FROM requests q WHERE q.run_id = r.id AND q.idempotency_key = $1 LIMIT 1
) asked ON true
CROSS JOIN LATERAL (
    SELECT FROM lines l WHERE l.run_id = r.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
) free
WHERE NOT r.waitlist_ended AND r.waiting_count > 0 AND least(coalesce(r.promote_until, r.starts_at), r.ends_at) <= now()
  AND asked.there IS NULL
ORDER BY least(coalesce(r.promote_until, r.starts_at), r.ends_at)`

// ListsToEnd returns the slugs of the runs that have people on the waiting list
// although its time has come, the longest overdue first.
//
// An empty list needs no end: requests that are accepted from its time on are
// late, and settled as if it had ended.
func (s *Store) ListsToEnd(ctx context.Context) ([]string, error) {
	return collect(ctx, s, "looking for waiting lists that end", pgx.RowTo[string], listsToEnd, enroll.NewScheduledCloseWaitlist("").IdempotencyKey)
}
