package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// reminderLockClass is the first key of the advisory lock under which reminders
// are written. Lanes use none like it.
const reminderLockClass = 0x72656d64

// dueChange locks the change of a run whose notices have to be written, or to be
// written on. No worker waits for a row that another one writes for. The window is
// as long as $1, or as a tenth of the time from the first change to the nearest
// start that the run had since; a minute at most if that is under an hour.
// Windows from the future, since the clock was set back, are over. The order is
// random, so that a run whose notices cannot be written does not keep the others
// from theirs.
const dueChange = `
SELECT c.run_id, coalesce(c.after, 0), c.after IS NULL
FROM run_changes c
LEFT JOIN LATERAL (
    SELECT min(v.starts_at) - c.opened_at AS nearest FROM run_revisions v WHERE v.run_id = c.run_id AND v.revision >= c.since
) v ON true
WHERE c.after IS NOT NULL OR c.opened_at > clock_timestamp()
   OR c.opened_at + least($1::interval, v.nearest / 10, CASE WHEN v.nearest < interval '1 hour' THEN interval '1 minute' END) <= clock_timestamp()
ORDER BY random()
LIMIT 1
FOR UPDATE OF c SKIP LOCKED`

// writeChanges writes the notices of the run $1 for the next $3 people after the
// ticket $2 who have a seat or a place, except for those who were told of this
// time and location already; of a run that is called off or over it writes none. It
// returns how many people it looked at, and the last of their tickets. A
// statement of its own, after dueChange, so that its snapshot has the change.
// People who get a seat or a place behind the cursor are told of it by a mail that
// is newer than the change.
const writeChanges = `
WITH people AS MATERIALIZED (
    SELECT p.ticket
    FROM runs r
    CROSS JOIN LATERAL (
        (SELECT a.ticket FROM attendances a WHERE a.run_id = r.id AND a.ticket > $2 ORDER BY a.ticket LIMIT $3)
        UNION ALL
        (SELECT w.ticket FROM waiting w WHERE w.run_id = r.id AND w.ticket > $2 ORDER BY w.ticket LIMIT $3)
        ORDER BY ticket LIMIT $3
    ) p
    WHERE r.id = $1 AND NOT r.called_off AND r.ends_at > clock_timestamp()
), written AS (
    INSERT INTO mails (kind, run_id, ticket, sequence)
    SELECT $4, q.run_id, q.ticket, coalesce(last.sequence + 1, 0)
    FROM people p
    CROSS JOIN LATERAL (SELECT * FROM requests q WHERE q.run_id = $1 AND q.ticket = p.ticket LIMIT 1) q
    CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.id = q.run_id LIMIT 1) r
    CROSS JOIN (SELECT NULL::uuid AS id) m ` + toldByMail + lastOfKind + `
    WHERE (old.starts_at, old.ends_at, old.time_zone, old.location) IS DISTINCT FROM (r.starts_at, r.ends_at, r.time_zone, r.location)
    ON CONFLICT DO NOTHING -- an organiser has one sent again at this instant
)
SELECT count(*), coalesce(max(ticket), 0) FROM people`

// dueReminders finds a run that begins within $1 and whose reminders of this start
// are not all written, and from which ticket on: any of them, like dueChange. While notices of a
// change are not written, a reminder would come before them, and perhaps of a
// start that is a mistake: it waits.
const dueReminders = `
SELECT r.id, r.starts_at, CASE WHEN d.starts_at = r.starts_at THEN d.after ELSE 0 END
FROM runs r
LEFT JOIN run_reminders d ON d.run_id = r.id
WHERE r.starts_at > clock_timestamp() AND r.starts_at <= clock_timestamp() + $1::interval AND NOT r.called_off
  AND (d.run_id IS NULL OR d.starts_at <> r.starts_at OR d.after IS NOT NULL)
  AND NOT EXISTS (SELECT FROM run_changes c WHERE c.run_id = r.id)
ORDER BY random()
LIMIT 1`

// writeReminders writes the reminders of the run $1 for the next $3 seats after
// the ticket $2, and notes how far it has come. Seats whose people were told of
// this start within $5 of it need none, nor do those for which a mail ($6) waits
// that will tell it. What older programs have sent counts as telling it. A run
// that was moved since dueReminders found it, and no longer begins at $7, gets
// none: if its new start is due, dueReminders finds it again.
const writeReminders = `
WITH seats AS MATERIALIZED (
    SELECT a.ticket FROM attendances a WHERE a.run_id = $1 AND a.ticket > $2 ORDER BY a.ticket LIMIT $3
), written AS (
    INSERT INTO mails (kind, run_id, ticket, sequence)
    SELECT $4, r.id, q.ticket, coalesce(last.sequence + 1, 0)
    FROM runs r
    CROSS JOIN LATERAL (SELECT r.id AS run_id, ticket FROM seats) q
    LEFT JOIN LATERAL (
        SELECT true AS told
        FROM mails m
        LEFT JOIN LATERAL (SELECT v.starts_at FROM run_revisions v WHERE v.run_id = m.run_id AND v.revision = m.revision LIMIT 1) v ON true
        WHERE m.run_id = q.run_id AND m.ticket = q.ticket AND m.kind = ANY($6::text[])
          AND (m.ended_at IS NULL OR m.state = 'sent' AND m.ended_at > r.starts_at - $5::interval AND coalesce(v.starts_at = r.starts_at, true))
        LIMIT 1
    ) before ON true ` + lastOfKind + `
    WHERE r.id = $1 AND r.starts_at = $7 AND before.told IS NULL
    ON CONFLICT DO NOTHING -- an organiser has one sent again at this instant
), noted AS (
    INSERT INTO run_reminders (run_id, starts_at, after)
    SELECT r.id, r.starts_at, CASE WHEN s.count = $3 THEN s.last END
    FROM runs r CROSS JOIN (SELECT count(*), max(ticket) AS last FROM seats) s
    WHERE r.id = $1 AND r.starts_at = $7
    ON CONFLICT (run_id) DO UPDATE SET starts_at = excluded.starts_at, after = excluded.after
)
SELECT count(*) FROM seats`

// lastOfKind finds the sequence of the last mail of the kind $4 of the
// registration q.
const lastOfKind = `
LEFT JOIN LATERAL (
    SELECT l.sequence FROM mails l WHERE l.run_id = q.run_id AND l.ticket = q.ticket AND l.kind = $4 ORDER BY l.sequence DESC LIMIT 1
) last ON true `

// seatTellers are the kinds that tell people with a seat when the run begins.
var seatTellers = []enroll.MailKind{enroll.MailConfirmed, enroll.MailPromoted, enroll.MailChanged, enroll.MailReminder}

// WriteChanges writes notices of changed times and locations, of one run and for
// at most so many people, if the window of its change, at most so long, is over. It
// returns how many people it looked at, and whether it found a run. A run that is
// changed meanwhile opens another window: its people are looked at again then.
// What it has not come to when it fails, the next call comes to.
func (s *Store) WriteChanges(ctx context.Context, window time.Duration, most int) (people int, found bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var (
			run         enroll.RunID
			after, last int64
			begins      bool
		)
		err := tx.QueryRow(ctx, dueChange, window).Scan(&run, &after, &begins)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		if err := tx.QueryRow(ctx, writeChanges, run, after, most, enroll.MailChanged).Scan(&people, &last); err != nil {
			return err
		}
		switch {
		case people == most: // there may be more
			_, err = tx.Exec(ctx, `UPDATE run_changes SET after = $2, opened_at = CASE WHEN $3 THEN NULL ELSE opened_at END WHERE run_id = $1`, run, last, begins)
		case begins:
			_, err = tx.Exec(ctx, `DELETE FROM run_changes WHERE run_id = $1`, run)
		default:
			batch := &pgx.Batch{}
			batch.Queue(`DELETE FROM run_changes WHERE run_id = $1 AND opened_at IS NULL`, run)
			batch.Queue(`UPDATE run_changes SET after = NULL WHERE run_id = $1`, run)
			err = tx.SendBatch(ctx, batch).Close()
		}
		return err
	})
	if err != nil {
		return 0, false, translate("writing notices of a change", err)
	}
	return people, found, nil
}

// WriteReminders writes reminders for one run that begins within before, and for
// at most so many seats. It returns how many seats it looked at, and whether it
// found a run. One caller at a time writes; others find nothing.
func (s *Store) WriteReminders(ctx context.Context, before time.Duration, most int) (seats int, found bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, 0)`, reminderLockClass).Scan(&alone); err != nil || !alone {
			return err
		}
		var run enroll.RunID
		var begins time.Time
		var after int64
		err := tx.QueryRow(ctx, dueReminders, before).Scan(&run, &begins, &after)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		return tx.QueryRow(ctx, writeReminders, run, after, most, enroll.MailReminder, before, seatTellers, begins).Scan(&seats)
	})
	if err != nil {
		return 0, false, translate("writing reminders", err)
	}
	return seats, found, nil
}
