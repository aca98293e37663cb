package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// againAfter is how long an address is not written to for the same cause, and not
// either while such a mail still waits: what others can cause by typing an address
// must not become a nuisance, nor a burst when the mail server was away.
const againAfter = 10 * time.Minute

// linksLockClass is the first key of the advisory locks of addresses that ask
// for their links. It is none that names lanes.
const linksLockClass = 0x6c696e6b

// insertMails writes the mails that settling decided on, with ids in the order of
// time: random ones, which the database would make, cost a quarter more.
const insertMails = `
INSERT INTO mails (run_id, ticket, kind, id)
SELECT * FROM unnest($1::integer[], $2::bigint[], $3::text[], $4::uuid[])`

// tellFull writes a mail for the registrations with the tickets $1, $2 that found
// no seat: one for each address, and none if the address was told so of the same
// run a short while ago, by whichever request. A time from the future, since the
// clock was set back, is no short while ago, here and below. Anybody can ask in the
// name of an address as often as they like. It runs under the runs' locks, so that two
// settlers do not both find that it was not told. OFFSET 0 keeps the planner from
// going through the whole run in search of the address; what it costs depends on
// how often the address has asked.
const tellFull = `
INSERT INTO mails (run_id, ticket, kind)
SELECT one.run_id, one.ticket, $4
FROM (
    SELECT DISTINCT ON (refused.run_id, q.email_key) refused.run_id, refused.ticket, q.email_key
    FROM unnest($1::integer[], $2::bigint[]) AS refused (run_id, ticket)
    CROSS JOIN LATERAL (SELECT email_key FROM requests q WHERE q.run_id = refused.run_id AND q.ticket = refused.ticket LIMIT 1) q
    ORDER BY refused.run_id, q.email_key, refused.ticket
) one
LEFT JOIN LATERAL (
    SELECT true AS told
    FROM (SELECT run_id, ticket FROM requests o WHERE o.email_key = one.email_key OFFSET 0) o
    CROSS JOIN LATERAL (
        SELECT due_at, state FROM mails m WHERE m.run_id = o.run_id AND m.ticket = o.ticket AND m.kind = $4
        ORDER BY sequence DESC LIMIT 1
    ) m
    WHERE o.run_id = one.run_id AND (m.state = 'pending' OR m.due_at > clock_timestamp() - $3::interval AND m.due_at <= clock_timestamp())
    LIMIT 1
) before ON true
WHERE before.told IS NULL`

// tellAgain writes a mail for the registrations whose address asked again, and
// not if it got such a mail a short while ago. It runs under the runs' locks, so
// that two settlers do not both find that it did not.
const tellAgain = `
INSERT INTO mails (run_id, ticket, kind, sequence)
SELECT DISTINCT again.run_id, again.ticket, $4, coalesce(last.sequence + 1, 0)
FROM unnest($1::integer[], $2::bigint[]) AS again (run_id, ticket)
LEFT JOIN LATERAL (
    SELECT sequence, due_at, state FROM mails m WHERE m.run_id = again.run_id AND m.ticket = again.ticket AND m.kind = $4
    ORDER BY sequence DESC LIMIT 1
) last ON true
WHERE last.due_at IS NULL OR last.state <> 'pending' AND (last.due_at <= clock_timestamp() - $3::interval OR last.due_at > clock_timestamp())
ON CONFLICT DO NOTHING` // an organiser has it sent again at this instant

// RequestLinks writes a mail with the links of all registrations of the address,
// if it has any and got no such mail a short while ago. Nobody is told whether
// it did.
func (s *Store) RequestLinks(ctx context.Context, address enroll.AddressKey) error {
	batch := &pgx.Batch{} // one implicit transaction
	// Two who ask at once: the second must see what the first wrote, which takes
	// a statement of its own after the lock.
	batch.Queue(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, linksLockClass, address)
	batch.Queue(`
		INSERT INTO mails (kind, email_key)
		SELECT $3, $1
		WHERE EXISTS (SELECT FROM requests WHERE email_key = $1) AND NOT EXISTS (
			SELECT FROM mails WHERE email_key = $1 AND kind = $3 AND (state = 'pending' OR due_at > clock_timestamp() - $2::interval AND due_at <= clock_timestamp())
		)`, address, againAfter, enroll.MailLinks)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return translate("asking for the links of an address", err)
	}
	return nil
}

const selectMails = `
SELECT m.id, r.slug, m.ticket, m.kind, m.sequence,
       CASE WHEN m.kind = 'mistaken_address' THEN coalesce(m.email, '') ELSE coalesce(m.email, q.email) END,
       m.state, m.attempts, m.due_at, m.next_at, m.ended_at, m.problem, m.told_by
FROM mails m
CROSS JOIN LATERAL (SELECT slug FROM runs r WHERE r.id = m.run_id LIMIT 1) r
CROSS JOIN LATERAL (SELECT email FROM requests q WHERE q.run_id = m.run_id AND q.ticket = m.ticket LIMIT 1) q `

func scanOutboxMail(row pgx.CollectableRow) (m enroll.OutboxMail, err error) {
	var ended *time.Time
	err = row.Scan(&m.ID, &m.Run, &m.Ticket, &m.Kind, &m.Sequence, &m.To, &m.State, &m.Attempts, &m.DueAt, &m.NextAt, &ended, &m.Problem, &m.ToldBy)
	if ended != nil {
		m.EndedAt, m.NextAt = *ended, time.Time{}
	}
	return m, err
}

// mailsOfTicket and mailsByTicket are two statements, since one plan would not
// do for both.
const (
	mailsOfTicket = selectMails + `
WHERE m.run_id = $1 AND m.ticket = $3 AND ($2 = '' OR m.state = $2)
ORDER BY m.due_at, m.id`
	mailsByTicket = selectMails + `
WHERE m.run_id = $1 AND m.ticket = ANY(ARRAY(
    SELECT DISTINCT ticket FROM mails WHERE run_id = $1 AND ticket > $3 AND ($2 = '' OR state = $2) ORDER BY ticket LIMIT $4
)) AND ($2 = '' OR m.state = $2)
ORDER BY m.ticket, m.due_at, m.id`
)

// Mails returns the mails about registrations of the run that the query asks
// for, by ticket, and those of one ticket by time. The error has code NotFound if
// there is no such run.
func (s *Store) Mails(ctx context.Context, run string, q enroll.MailQuery) ([]enroll.OutboxMail, error) {
	const doing = "reading mails"
	found, err := s.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if q.Ticket != 0 {
		return collect(ctx, s, doing, scanOutboxMail, mailsOfTicket, found.ID, q.State, q.Ticket)
	}
	return collect(ctx, s, doing, scanOutboxMail, mailsByTicket, found.ID, q.State, q.After, q.Tickets)
}

// newestOfMail finds the newest mail of the same kind about the same registration
// as the mail $1 of the run $2.
const newestOfMail = selectMails + `
WHERE r.slug = $2 AND (m.run_id, m.ticket, m.kind) = (SELECT run_id, ticket, kind FROM mails WHERE id = $1)
ORDER BY m.sequence DESC LIMIT 1`

// ResendMail writes the mail anew, as another message, and returns its state. A
// mail that still waits is made due now in place of that. The error has code
// NotFound if there is no such mail about a registration of the run, Obsolete if it
// would be skipped, and Corrected if its address is erased. What a summary did not
// get told the new one takes over.
func (s *Store) ResendMail(ctx context.Context, by access.Caller, run string, id uuid.UUID) (enroll.OutboxMail, error) {
	const doing = "sending a mail again"
	found, err := collect(ctx, s, doing, scanOutboxMail, newestOfMail, id, run)
	switch {
	case err != nil:
		return enroll.OutboxMail{}, err
	case len(found) == 0:
		return enroll.OutboxMail{}, notFound("mail")
	case found[0].To == "":
		return enroll.OutboxMail{}, enroll.Errorf(enroll.Corrected, "the address of this mail was entered by mistake and has been erased: the mail cannot be sent again")
	case found[0].State != enroll.MailPending:
		m := enroll.Mail{ID: id}
		batch := &pgx.Batch{}
		queueReadMail(batch, &m)
		if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
			return enroll.OutboxMail{}, translate(doing, err)
		}
		if why := m.Obsolete(); why != "" {
			return enroll.OutboxMail{}, enroll.Errorf(enroll.Obsolete, "the mail is obsolete and would be skipped: %s", why)
		}
	}
	batch := &pgx.Batch{} // one implicit transaction
	batch.Queue(lockMailbox, id, mailboxLockClass)
	batch.Queue(`
		WITH again AS (
			INSERT INTO mails (kind, run_id, ticket, email_key, email, sequence)
			SELECT m.kind, m.run_id, m.ticket, m.email_key, CASE WHEN m.email_key IS NOT NULL THEN m.email END, last.sequence + 1
			FROM mails m
			CROSS JOIN LATERAL (
				SELECT sequence, state FROM mails l WHERE l.run_id = m.run_id AND l.ticket = m.ticket AND l.kind = m.kind
				ORDER BY sequence DESC LIMIT 1
			) last
			WHERE m.id = $1 AND last.state <> 'pending' AND m.kind <> $2
			RETURNING id
		)
		UPDATE mails o SET told_by = again.id, seat_told = o.seat_told OR coalesce(o.told_status = 'confirmed', false) AND m.left_at IS NOT NULL
		FROM again, mails m
		WHERE m.id = $1 AND m.state <> 'sent' AND o.told_by = m.id`, id, enroll.MailMistakenAddress)
	batch.Queue(`
		UPDATE mails l SET next_at = clock_timestamp()
		FROM mails m
		WHERE m.id = $1 AND (l.run_id, l.ticket, l.kind) = (m.run_id, m.ticket, m.kind)
		  AND l.state = 'pending' AND l.next_at > clock_timestamp() AND l.claimed_until IS NULL`, id)
	queueAudit(batch, by, access.Entry{Action: access.MailResent, Run: run, Ticket: found[0].Ticket, Details: map[string]any{"kind": found[0].Kind}})
	batch.Queue(newestOfMail, id, run).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanOutboxMail)
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return enroll.OutboxMail{}, translate(doing, err)
	}
	return found[0], nil
}
