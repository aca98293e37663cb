package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

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
	// A person who was told since that the seat is gone has the entry that says so.
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
