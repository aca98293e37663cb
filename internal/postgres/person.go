package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// CorrectPerson changes the name and the address of the registration with the
// ticket. No seat moves: it keeps its place, and what it says from now on is what
// it has said all along. The error has code NotFound if there is no such
// registration, NotHeld if it has neither a seat nor a place, CancelWaits while a
// request to cancel it is undecided, and Conflict if the new address has a seat or
// a place in the run by another registration.
//
// Another address gets another id, and the old one is retired: its owner was
// written to by mistake. See correctAddress.
//
// It holds the line's lock, so that no cancel by the old id comes between, and
// the run's, like settling, since it changes which registration an address belongs to.
func (s *Store) CorrectPerson(ctx context.Context, by access.Caller, run string, ticket int64, name enroll.Name, address enroll.Address) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		held, err := lockHeld(ctx, tx, run, ticket)
		if err != nil {
			return err
		}
		user, err := userOf(ctx, tx, held, name, address)
		if err != nil {
			return err
		}
		var other bool
		err = tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM attendances WHERE run_id = $1 AND user_id = $2 AND ticket <> $3)
			    OR EXISTS (SELECT FROM waiting WHERE run_id = $1 AND user_id = $2 AND ticket <> $3)`, held.run, user, ticket).Scan(&other)
		if err != nil {
			return err
		}
		if other {
			return enroll.Errorf(enroll.Conflict, "this address already has a seat in this run or a place on its waiting list")
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE requests SET name = $3, email = $4 WHERE run_id = $1 AND ticket = $2`, held.run, ticket, name, address.Typed)
		if address.Key != held.key {
			correctAddress(batch, held, address, user)
		}
		fields := []string{"name", "email"}
		switch {
		case address.Typed == held.email:
			fields = fields[:1]
		case name == held.name:
			fields = fields[1:]
		}
		queueAudit(batch, by, access.Entry{Action: access.PersonCorrected, Run: run, Ticket: ticket, Details: map[string]any{"fields": fields}})
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return translate("correcting a person", err)
	}
	return nil
}

// heldRegistration is a registration that has a seat or a place, with the locks of
// its line and its run.
type heldRegistration struct {
	run     enroll.RunID
	ticket  int64
	settled int64 // of the run
	status  enroll.Status
	name    enroll.Name
	email   string
	key     enroll.AddressKey
}

// lockHeld locks the line's head and the run's row and reads the registration.
func lockHeld(ctx context.Context, tx pgx.Tx, run string, ticket int64) (heldRegistration, error) {
	h := heldRegistration{ticket: ticket}
	if _, err := tx.Exec(ctx, `SELECT FROM lines WHERE run_id = (SELECT id FROM runs WHERE slug = $1) FOR NO KEY UPDATE`, run); err != nil {
		return h, err
	}
	err := tx.QueryRow(ctx, `SELECT id, settled_ticket FROM runs WHERE slug = $1 FOR NO KEY UPDATE`, run).Scan(&h.run, &h.settled)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, notFound("run")
	} else if err != nil {
		return h, err
	}
	var cancelWaits bool
	err = tx.QueryRow(ctx, `
		SELECT status, name, email, email_key,
		       EXISTS (SELECT FROM requests c WHERE c.run_id = $1 AND c.target = $2 AND c.status = 'queued')
		FROM requests WHERE run_id = $1 AND ticket = $2 AND kind = 'register'`, h.run, ticket).Scan(&h.status, &h.name, &h.email, &h.key, &cancelWaits)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return h, notFound("registration")
	case err != nil:
		return h, err
	case h.status != enroll.Confirmed && h.status != enroll.Waitlisted:
		return h, enroll.ErrNotHeld
	case cancelWaits:
		return h, enroll.ErrCancelWaits
	}
	return h, nil
}

// userOf returns the user that the address belongs to, and makes one if there is
// none. The user of the old address, if nothing else was asked for with it, keeps
// only the key, which other settlers may hold: the name that was typed is not
// theirs. Rows are locked in the order of their keys, as settling does.
func userOf(ctx context.Context, tx pgx.Tx, h heldRegistration, name enroll.Name, address enroll.Address) (user int64, err error) {
	forget := func() error {
		if err != nil || address.Key == h.key {
			return err
		}
		_, err := tx.Exec(ctx, `
			UPDATE users SET email = email_key, name = ''
			WHERE email_key = $1 AND NOT EXISTS (
				SELECT FROM requests WHERE email_key = $1 AND NOT (run_id = $2 AND ticket = $3)
			)`, h.key, h.run, h.ticket)
		return err
	}
	find := func() error {
		return tx.QueryRow(ctx, `
			INSERT INTO users (email_key, email, name) VALUES ($1, $2, $3)
			ON CONFLICT (email_key) DO UPDATE SET email_key = excluded.email_key RETURNING id`,
			address.Key, address.Typed, name).Scan(&user)
	}
	steps := []func() error{find, forget}
	if h.key < address.Key {
		steps = []func() error{forget, find}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return user, nil
}

// seatTables says where a registration has its seat or its place.
var seatTables = map[enroll.Status]string{enroll.Confirmed: "attendances", enroll.Waitlisted: "waiting"}

// freshMails says by which mail a person learns of a seat or a place.
var freshMails = map[enroll.Status]enroll.MailKind{enroll.Confirmed: enroll.MailConfirmed, enroll.Waitlisted: enroll.MailWaitlisted}

// correctAddress gives the registration its new address, a new id and new mails.
//
// Mails that have been sent to the old address, or are on their way to it, keep
// it: an organiser has to know where they went. Those that wait are skipped in
// favour of one that tells the new address how things stand, except for a
// reminder, which is still right. The old address learns that it was a mistake,
// and nothing else. A summary is about an address and stays its, and so do the
// mails that joined it.
func correctAddress(batch *pgx.Batch, h heldRegistration, address enroll.Address, user int64) {
	batch.Queue(`INSERT INTO retired_ids (id, run_id, ticket) SELECT id, run_id, ticket FROM requests WHERE run_id = $1 AND ticket = $2`, h.run, h.ticket)
	batch.Queue(`UPDATE requests SET id = $3, email_key = $4, corrected_after = $5 WHERE run_id = $1 AND ticket = $2`,
		h.run, h.ticket, uuid.New(), address.Key, h.settled)
	batch.Queue(`UPDATE `+seatTables[h.status]+` SET user_id = $3 WHERE run_id = $1 AND ticket = $2`, h.run, h.ticket, user)
	// Claims of mails to one of the two, and resends, take turns with this; and so do
	// two corrections, because they lock in one order.
	batch.Queue(`
		SELECT pg_advisory_xact_lock($1, mailbox)
		FROM (SELECT DISTINCT hashtext(key) AS mailbox FROM unnest($2::text[]) AS key ORDER BY mailbox) locks`,
		mailboxLockClass, []string{string(h.key), string(address.Key)})
	batch.Queue(`
		UPDATE mails SET email = $3
		WHERE run_id = $1 AND ticket = $2 AND email IS NULL AND kind <> $4
		  AND (email_key = $6 OR told_by IS NOT NULL OR state IN ('sent', 'failed')
		       OR state = 'pending' AND (claimed_until IS NOT NULL OR attempts > 0 AND kind <> $5))`,
		h.run, h.ticket, h.email, enroll.MailMistakenAddress, enroll.MailReminder, h.key)
	batch.Queue(`
		UPDATE mails SET state = 'skipped', ended_at = clock_timestamp(), problem = 'the address was corrected'
		WHERE run_id = $1 AND ticket = $2 AND state = 'pending' AND claimed_until IS NULL AND email_key IS NULL AND kind NOT IN ($3, $4)`,
		h.run, h.ticket, enroll.MailMistakenAddress, enroll.MailReminder)
	const fresh = `
		INSERT INTO mails (run_id, ticket, kind, email, email_key, sequence)
		SELECT $1, $2, $3, $4, $5, coalesce(max(sequence) + 1, 0) FROM mails WHERE run_id = $1 AND ticket = $2 AND kind = $3`
	batch.Queue(fresh, h.run, h.ticket, freshMails[h.status], nil, nil)
	batch.Queue(fresh, h.run, h.ticket, enroll.MailMistakenAddress, h.email, h.key)
}

// retiredRegistrations returns which of the ids have been retired, as
// registrations that are nothing but that.
func (s *Store) retiredRegistrations(ctx context.Context, ids [][16]byte) ([]enroll.Registration, error) {
	return collect(ctx, s, "reading retired ids", func(row pgx.CollectableRow) (r enroll.Registration, err error) {
		r.Retired = true
		err = row.Scan(&r.ID)
		return r, err
	}, `SELECT id FROM retired_ids WHERE id = ANY($1)`, ids)
}
