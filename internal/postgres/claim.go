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
FROM (
    SELECT m.id, m.recipient FROM mails m
    WHERE m.id = $1 AND m.attempts = $2 AND m.replaced = $3 AND m.ended_at IS NULL AND m.left_at IS NOT NULL
      AND (m.claimed_until IS NULL OR m.claimed_until <= clock_timestamp())
    LIMIT 1
) m
WHERE o.id = ANY(ARRAY(SELECT $1 UNION ALL SELECT x.id FROM mails x WHERE x.told_by = $1))
  AND o.told_status = 'confirmed' AND o.recipient = m.recipient AND NOT o.seat_told`

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

// joinSummary makes the mail $1 part of the summary ($2) of its run for its
// address, for which $3 stands as its problem. If none waits, one is begun that is
// due at $4. One that is on its way takes nothing in: it may tell how things were
// before. What the mail told by itself is no longer what it tells.
const joinSummary = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), mine AS MATERIALIZED (
    SELECT m.id, m.run_id, m.ticket, a.key
    FROM clock, mails m
    LEFT JOIN LATERAL (SELECT email_key FROM requests q WHERE q.run_id = m.run_id AND q.ticket = m.ticket LIMIT 1) q ON true
    CROSS JOIN LATERAL (SELECT coalesce(m.email_key, q.email_key) AS key) a
    WHERE m.id = $1 AND m.ended_at IS NULL AND (m.claimed_until IS NULL OR m.claimed_until <= clock.now)
      AND a.key = current_setting('lastseat.mailbox', true)
), waits AS MATERIALIZED (
    SELECT s.id, s.claimed_until
    FROM mine CROSS JOIN LATERAL (
        SELECT s.id, s.claimed_until FROM mails s
        WHERE s.email_key = mine.key AND s.run_id = mine.run_id AND s.kind = $2 AND s.ended_at IS NULL LIMIT 1
    ) s
), begun AS (
    INSERT INTO mails (kind, run_id, ticket, email_key, sequence, next_at)
    SELECT $2, mine.run_id, mine.ticket, mine.key, coalesce(last.sequence + 1, 0), $4
    FROM mine
    LEFT JOIN LATERAL (
        SELECT sequence FROM mails l WHERE l.run_id = mine.run_id AND l.ticket = mine.ticket AND l.kind = $2 ORDER BY sequence DESC LIMIT 1
    ) last ON true
    WHERE NOT EXISTS (SELECT FROM waits)
    RETURNING id
)
UPDATE mails m
SET told_by = s.id, state = 'skipped', ended_at = clock.now, claimed_until = NULL, problem = $3, revision = NULL, told_status = NULL
FROM clock, mine, (
    SELECT waits.id FROM clock, waits WHERE waits.claimed_until IS NULL OR waits.claimed_until <= clock.now
    UNION ALL
    SELECT id FROM begun
) s
WHERE m.id = $1 AND m.ended_at IS NULL`

// takeAlong makes all that waits about the run for its address part of the mail
// $1, and notes of each what it tells. It does so only if the mail is a summary
// that this transaction has claimed: what an earlier claim tells is read already.
// A mail with an address of its own was begun for that address, and stays its.
const takeAlong = `
UPDATE mails o
SET state = 'skipped', ended_at = coalesce(o.ended_at, clock_timestamp()), claimed_until = NULL, told_by = s.id, problem = $3,
    recipient = s.recipient, revision = s.revision,
    seat_told = coalesce(o.recipient = s.recipient AND (o.seat_told OR o.told_by IS NULL AND o.told_status = 'confirmed' AND o.left_at IS NOT NULL), false),
    told_status = (SELECT q.status FROM requests q WHERE q.run_id = o.run_id AND q.ticket = o.ticket)
FROM (SELECT s.id, s.recipient, s.revision FROM mails s WHERE s.id = $1 LIMIT 1) s
WHERE o.id = ANY(ARRAY(
    SELECT x.id
    FROM (
        SELECT s.id, s.run_id, s.email_key, s.claimed_until FROM mails s
        WHERE s.id = $1 AND s.kind = $4 AND s.xmin = pg_current_xact_id_if_assigned()::xid
        OFFSET 0
    ) s
    CROSS JOIN LATERAL (SELECT q.run_id, q.ticket FROM requests q WHERE q.email_key = s.email_key OFFSET 0) q
    CROSS JOIN LATERAL (
        SELECT x.id FROM mails x
        WHERE x.run_id = q.run_id AND x.ticket = q.ticket AND x.id <> s.id
          AND (x.told_by = s.id OR x.ended_at IS NULL AND x.kind = ANY($2::text[]) AND x.email IS NULL)
        OFFSET 0
    ) x
    WHERE s.claimed_until IS NOT NULL AND q.run_id = s.run_id
    LIMIT 2000
))`

// toldByMail finds what the registration q was last told, in the way that
// enroll.LastTold explains: by which revision of the run and which status, when,
// and whether any mail that may have arrived told of a seat. A summary tells what
// the mails that joined it would have told. Revisions decide before times do: no
// mail tells an older revision than the mail before it, even after the clock was
// set back. Of the mail m itself, only the attempts before this one count; what
// went to an address that the registration no longer has never does.
const toldByMail = `
LEFT JOIN LATERAL (
    SELECT (array_agg(o.revision ORDER BY o.revision DESC NULLS LAST, o.at DESC) FILTER (WHERE o.sent))[1] AS revision,
           (array_agg(o.told_status ORDER BY o.revision DESC NULLS LAST, o.at DESC) FILTER (WHERE o.sent))[1] AS status,
           max(o.at) FILTER (WHERE o.sent) AS at,
           coalesce(bool_or(o.seat_told OR o.other AND o.told_status = 'confirmed' AND o.at IS NOT NULL), false) AS of_seat
    FROM (
        SELECT o.revision, o.told_status, o.seat_told, o.other, o.told_status IS NOT NULL AND o.other AND coalesce(s.state, o.state) = 'sent' AS sent, CASE WHEN o.told_by IS NULL THEN o.left_at ELSE s.left_at END AS at
        FROM (
            SELECT o.revision, o.told_status, o.seat_told, o.told_by, o.state, o.left_at, (o.id = m.id OR o.told_by = m.id) IS NOT TRUE AS other
            FROM mails o
            WHERE o.run_id = q.run_id AND o.ticket = q.ticket AND (o.told_status IS NOT NULL OR o.seat_told)
              AND o.recipient = hashtextextended(q.email_key, 0)
        ) o
        LEFT JOIN LATERAL (SELECT state, left_at FROM mails s WHERE s.id = o.told_by LIMIT 1) s ON true
    ) o
) t ON true
LEFT JOIN LATERAL (
    SELECT o.starts_at, o.ends_at, o.time_zone, o.location FROM run_revisions o
    WHERE o.run_id = q.run_id AND CASE WHEN t.revision IS NULL THEN o.changed_at <= q.accepted_at ELSE o.revision = t.revision END
    ORDER BY o.revision DESC LIMIT 1
) old ON true `

// linksMost is how many registrations one mail lists, the newest.
const linksMost = 100

// noteTold notes that the summary $1 tells of a registration with a seat or a
// place for which no mail waited, and which was last told something else: as a
// mail of the kind $2 that joins it. Otherwise the person would be told again by
// the round that follows the change. An address has one such registration in a
// run at most. It applies to a summary that this transaction has claimed.
const noteTold = `
INSERT INTO mails (kind, run_id, ticket, sequence, state, ended_at, told_by, problem, recipient, revision, told_status)
SELECT $2, q.run_id, q.ticket, coalesce(last.sequence + 1, 0), 'skipped', clock_timestamp(), m.id, $3, m.recipient, m.revision, q.status
FROM (
    SELECT s.* FROM mails s
    WHERE s.id = $1 AND s.kind = $4 AND s.claimed_until IS NOT NULL AND s.xmin = pg_current_xact_id_if_assigned()::xid
    OFFSET 0
) m
CROSS JOIN LATERAL (SELECT q.* FROM requests q WHERE q.email_key = m.email_key OFFSET 0) q
CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.id = q.run_id LIMIT 1) r ` + toldByMail + `
LEFT JOIN LATERAL (
    SELECT l.sequence FROM mails l WHERE l.run_id = q.run_id AND l.ticket = q.ticket AND l.kind = $2 ORDER BY l.sequence DESC LIMIT 1
) last ON true
WHERE q.run_id = m.run_id AND q.status IN ('confirmed', 'waitlisted')
  AND NOT EXISTS (SELECT FROM mails o WHERE o.run_id = q.run_id AND o.ticket = q.ticket AND (o.id = m.id OR o.told_by = m.id))
  AND (t.status IS DISTINCT FROM q.status
       OR (old.starts_at, old.ends_at, old.time_zone, old.location) IS DISTINCT FROM (r.starts_at, r.ends_at, r.time_zone, r.location))
ON CONFLICT DO NOTHING -- an organiser has one sent again at this instant`

// readMail reads what a mail tells: its registration; or the $2 newest ones of
// its address; or of those in one run the $2 that matter most, if it is a
// summary. A mail may have an address of its own: see mails.email. While the mail
// is claimed, time and location are those of the revision that the claim has
// noted, whatever has become of the run since. The last row of $2 tells that there
// is more: it is the one that matters least.
const readMail = `
SELECT m.kind, m.due_at, clock_timestamp(), coalesce(q.language, r.language), q.name, q.email, q.email_key,
       q.id, q.run_id, r.slug, q.ticket, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at, r.settled_ticket,
       CASE WHEN q.status = 'waitlisted'
            THEN (SELECT count(*) FROM waiting w WHERE w.run_id = q.run_id AND w.ticket <= q.ticket) ELSE 0 END,
       c.slug, c.title, now.location, now.time_zone, r.language, c.organiser, c.reply_to, now.revision, now.starts_at, now.ends_at,
       r.promote_until, r.opens_at, r.closes_at, r.waitlist_ended, r.called_off, ` + wasSeated + `,
       CASE WHEN m.kind = 'already_registered' THEN ` + askedFor + ` END,
       CASE WHEN m.ended_at IS NULL AND m.kind <> 'summary' THEN coalesce(m.email, '') ELSE '' END, coalesce(m.email_key, ''), coalesce(t.status, ''), t.at, t.of_seat, coalesce(old.starts_at, now.starts_at), coalesce(old.ends_at, now.ends_at),
       coalesce(old.time_zone, now.time_zone), coalesce(old.location, now.location),
       CASE WHEN m.kind = 'summary' THEN (
           SELECT jsonb_object_agg(j.kind, j.due_at)
           FROM (SELECT o.kind, max(o.due_at) AS due_at FROM mails o WHERE o.told_by = m.id GROUP BY o.kind) j
       ) END
FROM mails m
CROSS JOIN LATERAL (
    (SELECT q.*, 0 AS place FROM requests q WHERE (m.email_key IS NULL OR m.kind = 'mistaken_address') AND q.run_id = m.run_id AND q.ticket = m.ticket)
    UNION ALL
    (SELECT q.*, 0 FROM requests q WHERE m.run_id IS NULL AND q.email_key = m.email_key ORDER BY q.accepted_at DESC LIMIT $2)
    UNION ALL
    (SELECT q.*, row_number() OVER importance AS place
     FROM (SELECT q.* FROM requests q WHERE q.email_key = m.email_key OFFSET 0) q
     WHERE q.run_id = m.run_id AND m.kind <> 'mistaken_address'
     WINDOW importance AS (ORDER BY q.status IN ('confirmed', 'waitlisted') DESC, EXISTS (
         SELECT FROM (SELECT told_status, seat_told, told_by, left_at FROM mails o WHERE o.run_id = q.run_id AND o.ticket = q.ticket OFFSET 0) o
         LEFT JOIN LATERAL (SELECT left_at FROM mails s WHERE s.id = o.told_by LIMIT 1) s ON true
         WHERE o.seat_told OR o.told_status = 'confirmed' AND CASE WHEN o.told_by IS NULL THEN o.left_at ELSE s.left_at END IS NOT NULL
     ) DESC, q.ticket DESC)
     ORDER BY place LIMIT $2)
) q
CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.id = q.run_id LIMIT 1) r
CROSS JOIN LATERAL (SELECT * FROM courses c WHERE c.id = r.course_id LIMIT 1) c
CROSS JOIN LATERAL (
    (SELECT v.revision, v.starts_at, v.ends_at, v.time_zone, v.location FROM run_revisions v
     WHERE m.claimed_until IS NOT NULL AND m.revision <> r.revision AND v.run_id = q.run_id AND v.revision = m.revision)
    UNION ALL
    SELECT r.revision, r.starts_at, r.ends_at, r.time_zone, r.location
    LIMIT 1
) now ` + toldByMail + `
WHERE m.id = $1
ORDER BY q.place >= $2, q.accepted_at DESC, q.ticket DESC`

// joinedSummary is the problem of a mail that a summary tells.
const joinedSummary = "a summary tells this, since much about the run went to the address"

// ClaimMail makes one attempt to send the mail the caller's, and returns what it
// tells. The error has code NotFound if there is nothing to send now: somebody
// else sends it or has sent it, another mail about the run is on its way to the
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

// queueReadMail queues reading what the mail tells. One registration more than
// is listed tells whether there are more.
func queueReadMail(batch *pgx.Batch, m *enroll.Mail) {
	batch.Queue(readMail, m.ID, linksMost+1).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scanEnrolment(rows, m); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// scanEnrolment adds a row of readMail to the mail. The first, which is the
// newest, says who gets it and in which language.
func scanEnrolment(rows pgx.Rows, m *enroll.Mail) error {
	var (
		e                         enroll.Enrolment
		to                        enroll.Address
		lang                      enroll.Language
		decided, promoteUntil, at *time.Time
		told                      = &e.LastTold
		own                       enroll.Address // of a mail that is to, or has gone to, another address
	)
	err := rows.Scan(&m.Kind, &m.DueAt, &m.Now, &lang, &e.Name, &to.Typed, &to.Key,
		&e.ID, &e.RunID, &e.Run, &e.Ticket, &e.Status, &e.Reason, &e.AcceptedAt, &decided, &e.SettledTicket, &e.WaitlistPosition,
		&e.For.Course, &e.For.Title, &e.For.Location, &e.For.TimeZone, &e.For.Language, &e.For.Organiser, &e.For.ReplyTo,
		&e.For.Revision, &e.For.StartsAt, &e.For.EndsAt,
		&promoteUntil, &e.For.OpensAt, &e.For.ClosesAt, &e.For.WaitlistEnded, &e.For.CalledOff, &e.Seated, &e.AskedFor,
		&own.Typed, &own.Key, &told.Status, &at, &told.Seat, &told.Schedule.StartsAt, &told.Schedule.EndsAt, &told.Schedule.TimeZone, &told.Schedule.Location,
		&m.Joined)
	if err != nil {
		return err
	}
	for instant, read := range map[*time.Time]*time.Time{&e.DecidedAt: decided, &e.For.PromoteUntil: promoteUntil, &told.At: at} {
		if read != nil {
			*instant = *read
		}
	}
	// Whoever was told since that the seat is gone was sent the entry that says so.
	told.Entry = told.Seat && (told.Status == "" || told.Status == enroll.Waitlisted || told.Status == enroll.Confirmed)
	e.For.ID, e.For.Slug = e.RunID, e.Run
	if len(m.About) == 0 {
		m.To, m.Language, m.Outdated = to, lang, own.Typed != ""
	}
	if m.Kind == enroll.MailMistakenAddress { // outdated if it was corrected to and fro
		m.To, m.Outdated = own, own.Key == to.Key
	}
	m.About = append(m.About, e)
	return nil
}
