package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// CorrectPerson changes the name and the address of the registration with the
// ticket. No seat moves: it keeps its place, and what it says from now on is
// what it has said all along. The error has code NotFound if there is no such
// registration, NotHeld if it has neither a seat nor a place, and Conflict if the
// new address has one in the run by another registration.
//
// It holds the run's lock, like settling, since it changes whom an address
// belongs to.
func (s *Store) CorrectPerson(ctx context.Context, run string, ticket int64, name enroll.Name, address enroll.Address) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var id enroll.RunID
		var settled int64
		err := tx.QueryRow(ctx, `SELECT id, settled_ticket FROM runs WHERE slug = $1 FOR NO KEY UPDATE`, run).Scan(&id, &settled)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("run")
		} else if err != nil {
			return err
		}
		table, err := placeOf(ctx, tx, id, ticket)
		if err != nil {
			return err
		}
		var user int64
		err = tx.QueryRow(ctx, `
			INSERT INTO users (email_key, email, name) VALUES ($1, $2, $3)
			ON CONFLICT (email_key) DO UPDATE SET email_key = excluded.email_key RETURNING id`,
			address.Key, address.Typed, name).Scan(&user)
		if err != nil {
			return err
		}
		var other bool
		err = tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM attendances WHERE run_id = $1 AND user_id = $2 AND ticket <> $3)
			    OR EXISTS (SELECT FROM waiting WHERE run_id = $1 AND user_id = $2 AND ticket <> $3)`, id, user, ticket).Scan(&other)
		if err != nil {
			return err
		}
		if other {
			return enroll.Errorf(enroll.Conflict, "this address has a seat or a place in this run already")
		}
		batch := &pgx.Batch{}
		batch.Queue(`
			UPDATE requests SET name = $3, email = $4, email_key = $5,
			    corrected_after = CASE WHEN email_key = $5 THEN corrected_after ELSE $6 END
			WHERE run_id = $1 AND ticket = $2`, id, ticket, name, address.Typed, address.Key, settled)
		batch.Queue(`UPDATE `+table+` SET user_id = $3 WHERE run_id = $1 AND ticket = $2`, id, ticket, user)
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return translate("correcting a person", err)
	}
	return nil
}

// placeOf returns the table in which the registration has its seat or its place.
func placeOf(ctx context.Context, tx pgx.Tx, run enroll.RunID, ticket int64) (table string, err error) {
	var status enroll.Status
	err = tx.QueryRow(ctx, `SELECT status FROM requests WHERE run_id = $1 AND ticket = $2 AND kind = 'register'`, run, ticket).Scan(&status)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", notFound("registration")
	} else if err != nil {
		return "", err
	}
	switch status {
	case enroll.Confirmed:
		return "attendances", nil
	case enroll.Waitlisted:
		return "waiting", nil
	default:
		return "", enroll.ErrNotHeld
	}
}
