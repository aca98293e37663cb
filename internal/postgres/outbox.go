package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// MailsDue returns the mails that wait to be sent now, the longest waiting
// first, at most so many.
func (s *Store) MailsDue(ctx context.Context, most int) ([]enroll.DueMail, error) {
	return collect(ctx, s, "looking for mails", pgx.RowToStructByPos[enroll.DueMail], `
		SELECT id, attempts, replaced, next_at FROM mails WHERE state = 'pending' AND next_at <= now() ORDER BY next_at LIMIT $1`, most)
}

// asRead finds the mails $1 to $4 that are as they were read: a claim, the end of
// an attempt and another relay each change one of these columns. They are compared
// outside of the lookup, which sees the row as it was before a wait for it. What
// has not ended is pending; asked for the state, the plan could go through all
// that is.
const (
	asRead = `
FROM unnest($1::uuid[], $2::integer[], $3::integer[], $4::timestamptz[]) AS was (id, attempts, replaced, next_at)
CROSS JOIN LATERAL (SELECT o.ctid AS at FROM mails o WHERE o.id = was.id LIMIT 1) o
WHERE m.ctid = o.at AND m.ended_at IS NULL AND (m.attempts, m.replaced, m.next_at) = (was.attempts, was.replaced, was.next_at)`
	relayed  = `UPDATE mails m SET next_at = now() + $5::interval` + asRead
	replaced = `UPDATE mails m SET replaced = m.replaced + 1` + asRead + `
RETURNING m.id, m.attempts, m.replaced, m.next_at`
)

// MailsRelayed notes that the mails are in the queue: they are not due again for
// d, unless they are claimed before. One that is no longer as it was read keeps
// its time.
func (s *Store) MailsRelayed(ctx context.Context, mails []enroll.DueMail, d time.Duration) error {
	if _, err := s.pool.Exec(ctx, relayed, append(asReadArguments(mails), d)...); err != nil {
		return translate("noting that mails are in the queue", err)
	}
	return nil
}

// ReplaceTasks notes that the tasks of the mails are lost, and returns the mails
// under whose new names tasks are to be put on the queue. The old names are void:
// a task that comes back by one of them claims nothing. A mail that is no longer
// as it was read is left out.
func (s *Store) ReplaceTasks(ctx context.Context, mails []enroll.DueMail) ([]enroll.DueMail, error) {
	return collect(ctx, s, "replacing lost tasks", pgx.RowToStructByPos[enroll.DueMail], replaced, asReadArguments(mails)...)
}

func asReadArguments(mails []enroll.DueMail) []any {
	ids, attempts, replaced, next := make([][16]byte, len(mails)), make([]int, len(mails)), make([]int, len(mails)), make([]time.Time, len(mails))
	for i, m := range mails {
		ids[i], attempts[i], replaced[i], next[i] = m.ID, m.Attempts, m.Replaced, m.NextAt
	}
	return []any{ids, attempts, replaced, next}
}

// MendDueTimes makes mails due that were written by a clock which has been set
// back since, and returns how many there were: those that become due in the
// future, as no mail does, and those whose next look is further away than longest,
// which no mail waits. One that may be being sent stays claimed for so long.
func (s *Store) MendDueTimes(ctx context.Context, longest time.Duration) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE mails SET due_at = least(due_at, clock_timestamp()),
		    claimed_until = CASE WHEN claimed_until IS NOT NULL THEN clock_timestamp() + $1::interval END,
		    next_at = clock_timestamp() + CASE WHEN claimed_until IS NOT NULL THEN $1::interval ELSE interval '0' END
		WHERE state = 'pending' AND next_at > clock_timestamp()
		  AND (next_at > clock_timestamp() + $1::interval OR claimed_until IS NULL AND due_at > clock_timestamp())`, longest)
	if err != nil {
		return 0, translate("looking for mails from the future", err)
	}
	return int(tag.RowsAffected()), nil
}

// MailBacklog returns what waits in the outbox.
func (s *Store) MailBacklog(ctx context.Context) (b enroll.MailBacklog, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE due_at <= now() - $1::interval),
		       count(*) FILTER (WHERE due_at <= now() - $1::interval AND attempts = 0),
		       coalesce(extract(epoch FROM now() - min(due_at)), 0)::float8 * interval '1 second'
		FROM mails WHERE state = 'pending'`, enroll.MailPatience).Scan(&b.Pending, &b.Overdue, &b.Untried, &b.Oldest)
	if err != nil {
		return enroll.MailBacklog{}, translate("counting the mails that wait", err)
	}
	return b, nil
}

// lockMails locks the mails of one registration, so that one of them at a time
// is being sent. A statement of its own, before claimMail, whose snapshot must
// have what another claim wrote.
const lockMails = `
SELECT id FROM mails
WHERE id = ANY(ARRAY(
    SELECT $1::uuid
    UNION
    SELECT o.id FROM mails m CROSS JOIN LATERAL (
        SELECT id FROM mails o WHERE o.run_id = m.run_id AND o.ticket = m.ticket
    ) o WHERE m.id = $1
))
ORDER BY id
FOR UPDATE`

// claimMail makes the next attempt of a mail ours for $3, if it is still the one
// after $2 attempts, its task was replaced $4 times and not since, and nobody has
// it. While another mail of its
// registration is being sent, this one is looked at again a second later.
const claimMail = `
WITH mine AS (
    SELECT m.id, EXISTS (
        SELECT FROM mails o
        WHERE o.run_id = m.run_id AND o.ticket = m.ticket AND o.id <> m.id AND o.claimed_until > clock_timestamp()
    ) AS must_wait
    FROM mails m
    WHERE m.id = $1 AND m.attempts = $2 AND m.replaced = $4 AND m.state = 'pending' AND (m.claimed_until IS NULL OR m.claimed_until <= clock_timestamp())
)
UPDATE mails m
SET attempts = CASE WHEN must_wait THEN m.attempts ELSE m.attempts + 1 END,
    claimed_until = CASE WHEN must_wait THEN NULL ELSE clock_timestamp() + $3::interval END,
    next_at = clock_timestamp() + CASE WHEN must_wait THEN interval '1 second' ELSE $3::interval END
FROM mine
WHERE m.id = mine.id
RETURNING m.claimed_until IS NOT NULL`

// linksMost is how many registrations one mail lists, the newest.
const linksMost = 100

// readMail reads what a mail tells: its registration, or the $2 newest ones of
// its address.
const readMail = `
SELECT m.kind, m.due_at, clock_timestamp(), coalesce(q.language, r.language), q.name, q.email, q.email_key,
       q.id, q.run_id, r.slug, q.ticket, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at, r.settled_ticket,
       CASE WHEN q.status = 'waitlisted'
            THEN (SELECT count(*) FROM waiting w WHERE w.run_id = q.run_id AND w.ticket <= q.ticket) ELSE 0 END,
       c.slug, c.title, r.place, r.time_zone, r.language, c.organiser, c.reply_to, r.revision,
       r.starts_at, r.ends_at, r.promote_until, r.opens_at, r.closes_at, r.waitlist_ended, r.called_off, ` + wasSeated + `,
       CASE WHEN m.kind = 'already_registered' THEN ` + askedFor + ` END
FROM mails m
CROSS JOIN LATERAL (
    (SELECT q.* FROM requests q WHERE q.run_id = m.run_id AND q.ticket = m.ticket)
    UNION ALL
    (SELECT q.* FROM requests q WHERE q.email_key = m.email_key ORDER BY q.accepted_at DESC LIMIT $2)
) q
CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.id = q.run_id LIMIT 1) r
CROSS JOIN LATERAL (SELECT * FROM courses c WHERE c.id = r.course_id LIMIT 1) c
WHERE m.id = $1
ORDER BY q.accepted_at DESC`

// ClaimMail makes one attempt to send the mail the caller's, for lease, and
// returns what it tells. The error has code NotFound if there is nothing to
// send now: somebody else sends it or has sent it, or another mail of the same
// registration is on its way.
func (s *Store) ClaimMail(ctx context.Context, due enroll.DueMail, lease time.Duration) (enroll.Mail, error) {
	const doing = "claiming a mail"
	m := enroll.Mail{ID: due.ID, Attempt: due.Attempts + 1}
	claimed := false
	batch := &pgx.Batch{} // one implicit transaction
	s.queueLock(batch, lockMails, due.ID)
	batch.Queue(claimMail, due.ID, due.Attempts, lease, due.Replaced).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := rows.Scan(&claimed); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	// One more than is told tells whether there are more.
	batch.Queue(readMail, due.ID, linksMost+1).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scanEnrolment(rows, &m); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return enroll.Mail{}, translate(doing, err)
	}
	if !claimed {
		return enroll.Mail{}, notFound("mail to send")
	}
	if len(m.About) > linksMost {
		m.About, m.More = m.About[:linksMost], true
	}
	return m, nil
}

// scanEnrolment adds a row of readMail to the mail. The first, which is the
// newest, says who gets it and in which language.
func scanEnrolment(rows pgx.Rows, m *enroll.Mail) error {
	var (
		e       enroll.Enrolment
		to      enroll.Address
		lang    enroll.Language
		decided *time.Time
		until   *time.Time
	)
	err := rows.Scan(&m.Kind, &m.DueAt, &m.Now, &lang, &e.Name, &to.Typed, &to.Key,
		&e.ID, &e.RunID, &e.Run, &e.Ticket, &e.Status, &e.Reason, &e.AcceptedAt, &decided, &e.SettledTicket, &e.WaitlistPosition,
		&e.For.Course, &e.For.Title, &e.For.Place, &e.For.TimeZone, &e.For.Language, &e.For.Organiser, &e.For.ReplyTo,
		&e.For.Revision, &e.For.StartsAt, &e.For.EndsAt, &until, &e.For.OpensAt, &e.For.ClosesAt,
		&e.For.WaitlistEnded, &e.For.CalledOff, &e.Seated, &e.AskedFor)
	if err != nil {
		return err
	}
	if decided != nil {
		e.DecidedAt = *decided
	}
	if until != nil {
		e.For.PromoteUntil = *until
	}
	e.For.ID, e.For.Slug = e.RunID, e.Run
	if len(m.About) == 0 {
		m.To, m.Language = to, lang
	}
	m.About = append(m.About, e)
	return nil
}

// EndMailAttempt writes how an attempt ended, unless somebody else has claimed
// the mail since. It may be called again.
func (s *Store) EndMailAttempt(ctx context.Context, id uuid.UUID, attempt int, end enroll.MailAttempt) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE mails
		SET state = $3, problem = $4, claimed_until = NULL, next_at = clock_timestamp() + $5::interval,
		    ended_at = CASE WHEN $3 <> 'pending' THEN clock_timestamp() END
		WHERE id = $1 AND attempts = $2 AND state = 'pending'`, id, attempt, end.State, end.Problem, end.After)
	if err != nil {
		return translate(fmt.Sprintf("ending attempt %d of a mail", attempt), err)
	}
	return nil
}
