package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// mailboxLockClass is the first key of the advisory locks under which it is
// decided what leaves to an address. Lanes use none like it.
const mailboxLockClass = 0x6d61696c

// lockMailbox makes transactions that decide about mails to one address take
// turns. It is a statement of its own, before claimMail, whose snapshot must have
// what another claim wrote. The lock ends with the transaction: nothing is locked
// while a mail is being sent. The address is read before the wait for the lock,
// and a correction can change it meanwhile. So the transaction remembers which
// address is locked, and the statements after this one compare it.
const lockMailbox = `
SELECT set_config('lastseat.mailbox', coalesce(m.email_key, q.email_key), true),
       pg_advisory_xact_lock($2, hashtext(coalesce(m.email_key, q.email_key)))
FROM mails m
LEFT JOIN LATERAL (SELECT email_key FROM requests q WHERE q.run_id = m.run_id AND q.ticket = m.ticket LIMIT 1) q ON true
WHERE m.id = $1`

// keepSeatTold notes that an earlier attempt to send the mail $1 may have arrived
// and told of a seat, and the same of the mails that joined it. The next attempt
// overwrites what the earlier one told, and may end without leaving. A claim that
// has expired belonged to a worker that died: its mail may have left.
const keepSeatTold = `
UPDATE mails o
SET seat_told = true
WHERE o.id = ANY(ARRAY(
    SELECT x.id
    FROM (
        SELECT m.* FROM mails m WHERE m.id = $1 LIMIT 1
    ) m
    CROSS JOIN LATERAL (
        (SELECT m.id, m.recipient, m.told_status, m.seat_told)
        UNION ALL
        (SELECT x.id, x.recipient, x.told_status, x.seat_told FROM mails x WHERE x.told_by = m.id OFFSET 0)
    ) x
    WHERE m.attempts = $2 AND m.replaced = $3 AND m.ended_at IS NULL AND m.left_at IS NOT NULL
      AND (m.claimed_until IS NULL OR m.claimed_until <= clock_timestamp())
      AND x.told_status = 'confirmed' AND x.recipient = m.recipient AND NOT x.seat_told
    LIMIT 2000
))`

// claimMail makes the next attempt of a mail ours for $3 ('goes'), if it is still
// the one after $2 attempts, its task was replaced $10 times and not since, and
// nobody has it. It notes what it is going to tell.
// Otherwise the mail
//   - waits a second, while another one about the run is on its way to the
//     address: two mails must not overtake each other;
//   - joins the summary ($6) of what else there is to tell of the run, which is
//     for joinSummary to do: one waits already, or $8 mails of the kinds $5 about
//     the run have left to the address within $7, and the next may leave at the
//     instant that is returned;
//   - is held back, since $9 mails in all have left to the address within $7.
//
// What has left to an address is found by an index of its own, in which the last
// minutes are few entries. Times from the future, since the clock was set back,
// hold nothing back. What is pending is said by ended_at in all of these
// statements: by state it could be looked for among all that is pending.
const claimMail = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), mine AS MATERIALIZED (
    SELECT m.id, m.run_id, m.kind = ANY($5::text[]) AND m.kind <> $6 AS paced, m.kind = ANY($4::text[]) AS tells,
           a.key, hashtextextended(a.key, 0) AS recipient, q.status, r.revision
    FROM clock, mails m
    LEFT JOIN LATERAL (SELECT email_key, status FROM requests q WHERE q.run_id = m.run_id AND q.ticket = m.ticket LIMIT 1) q ON true
    LEFT JOIN LATERAL (SELECT revision FROM runs r WHERE r.id = m.run_id LIMIT 1) r ON true
    CROSS JOIN LATERAL (SELECT coalesce(m.email_key, q.email_key) AS key) a
    WHERE m.id = $1 AND m.attempts = $2 AND m.replaced = $10 AND m.ended_at IS NULL AND (m.claimed_until IS NULL OR m.claimed_until <= clock.now)
      AND a.key = current_setting('lastseat.mailbox', true)
), others AS MATERIALIZED (
    SELECT coalesce(bool_or(o.claimed_until > clock.now AND o.run_id = mine.run_id), false) AS on_the_way,
           (array_agg(o.left_at ORDER BY o.left_at DESC) FILTER (WHERE o.recent AND o.run_id = mine.run_id AND o.kind = ANY($5::text[])))[$8::integer] AS about_run,
           (array_agg(o.left_at ORDER BY o.left_at DESC) FILTER (WHERE o.recent))[$9::integer] AS in_all
    FROM clock, mine
    CROSS JOIN LATERAL (
        SELECT o.run_id, o.kind, o.left_at, o.claimed_until, o.left_at > clock.now - $7::interval AND o.left_at <= clock.now AS recent
        FROM mails o
        WHERE o.recipient = mine.recipient AND o.left_at > clock.now - greatest($3::interval, $7::interval) AND o.id <> mine.id
        OFFSET 0
    ) o
), decided AS MATERIALIZED (
    SELECT mine.*, clock.now, coalesce(others.about_run + $7::interval, clock.now) AS run_until, others.in_all + $7::interval AS held_until,
           CASE
               WHEN others.on_the_way THEN 'waits'
               WHEN mine.paced AND (others.about_run IS NOT NULL OR EXISTS (
                   SELECT FROM mails s WHERE s.email_key = mine.key AND s.run_id = mine.run_id AND s.kind = $6 AND s.ended_at IS NULL
               )) THEN 'joins'
               WHEN others.in_all IS NOT NULL THEN 'held'
               ELSE 'goes'
           END AS fate
    FROM clock, others, mine
)
UPDATE mails m
SET attempts = m.attempts + (d.fate = 'goes')::integer,
    claimed_until = CASE d.fate WHEN 'goes' THEN d.now + $3::interval END,
    next_at = CASE d.fate WHEN 'goes' THEN d.now + $3::interval WHEN 'held' THEN d.held_until ELSE d.now + interval '1 second' END,
    recipient = CASE d.fate WHEN 'goes' THEN d.recipient ELSE m.recipient END,
    left_at = CASE d.fate WHEN 'goes' THEN d.now ELSE m.left_at END,
    seat_told = m.seat_told AND coalesce(d.fate <> 'goes' OR m.recipient = d.recipient, false),
    revision = CASE WHEN d.fate = 'goes' AND d.tells THEN d.revision ELSE m.revision END,
    told_status = CASE WHEN d.fate = 'goes' AND d.tells THEN d.status ELSE m.told_status END
FROM decided d
WHERE m.id = $1 AND m.attempts = $2 AND m.replaced = $10 AND m.ended_at IS NULL AND (m.claimed_until IS NULL OR m.claimed_until <= d.now)
RETURNING d.fate, d.run_until`

// ClaimMail makes one attempt to send the mail the caller's, and returns what it
// tells. The error has code NotFound if there is nothing to send now: another
// worker sends it or has sent it, another mail about the run is on its way to the
// address, or too much has left to it in the last minutes.
func (s *Store) ClaimMail(ctx context.Context, due enroll.DueMail, limits enroll.ClaimLimits) (enroll.Mail, error) {
	const doing = "claiming a mail"
	m := enroll.Mail{ID: due.ID, Attempt: due.Attempts + 1}
	var (
		fate  string
		until time.Time
	)
	batch := &pgx.Batch{} // one implicit transaction
	batch.Queue(lockMailbox, due.ID, mailboxLockClass)
	batch.Queue(keepSeatTold, due.ID, due.Attempts, due.Replaced)
	batch.Queue(claimMail, due.ID, due.Attempts, limits.Lease, enroll.TellingKinds(), enroll.PacedKinds(), enroll.MailSummary,
		limits.Pace, enroll.PaceRun, enroll.PaceAddress, due.Replaced).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := rows.Scan(&fate, &until); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	batch.Queue(takeAlong, due.ID, enroll.PacedKinds(), joinedSummary, enroll.MailSummary)
	batch.Queue(noteTold, due.ID, enroll.MailChanged, joinedSummary, enroll.MailSummary)
	queueReadMail(batch, &m)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return enroll.Mail{}, translate(doing, err)
	}
	if fate == "joins" {
		batch := &pgx.Batch{} // one implicit transaction
		batch.Queue(lockMailbox, due.ID, mailboxLockClass)
		batch.Queue(joinSummary, due.ID, enroll.MailSummary, joinedSummary, until)
		if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
			return enroll.Mail{}, translate("leaving a mail to a summary", err)
		}
	}
	if fate != "goes" {
		return enroll.Mail{}, notFound("mail to send")
	}
	if len(m.About) > linksMost {
		m.About, m.More = m.About[:linksMost], true
	}
	return m, nil
}
