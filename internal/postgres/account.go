package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

const selectAccounts = `
SELECT a.id, a.name, a.email, a.email_key, a.language, a.disabled, a.created_at,
       (SELECT json_object_agg(coalesce(c.slug, ''), g.role) FROM grants g LEFT JOIN courses c ON c.id = g.course_id WHERE g.account_id = a.id)
FROM accounts a `

func scanAccount(row pgx.CollectableRow) (a access.Account, err error) {
	var grants []byte
	if err := row.Scan(&a.ID, &a.Name, &a.Address.Typed, &a.Address.Key, &a.Language, &a.Disabled, &a.CreatedAt, &grants); err != nil {
		return a, err
	}
	a.Grants, err = parseGrants(grants)
	return a, err
}

// Accounts returns at most so many accounts after one, by id.
func (s *Store) Accounts(ctx context.Context, after access.AccountID, most int) ([]access.Account, error) {
	return collect(ctx, s, "reading accounts", scanAccount, selectAccounts+`WHERE a.id > $1 ORDER BY a.id LIMIT $2`, after, most)
}

// Account returns the account, or an error of code NotFound.
func (s *Store) Account(ctx context.Context, id access.AccountID) (access.Account, error) {
	return s.oneAccount(ctx, `WHERE a.id = $1`, id)
}

// AccountByAddress returns the account with the address, or an error of code
// NotFound.
func (s *Store) AccountByAddress(ctx context.Context, key enroll.AddressKey) (access.Account, error) {
	return s.oneAccount(ctx, `WHERE a.email_key = $1`, key)
}

func (s *Store) oneAccount(ctx context.Context, where string, arg any) (access.Account, error) {
	found, err := collect(ctx, s, "reading an account", scanAccount, selectAccounts+where, arg)
	if err == nil && len(found) == 0 {
		err = notFound("account")
	}
	if err != nil {
		return access.Account{}, err
	}
	return found[0], nil
}

// AddAccount adds an account with its grants and returns it with its id. The
// error has code Conflict if the address has an account, and Invalid if a course
// of a grant does not exist.
func (s *Store) AddAccount(ctx context.Context, by access.Caller, a access.Account) (access.Account, error) {
	err := s.changeAccess(ctx, "adding an account", by, 0, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `INSERT INTO accounts (email_key, email, name, language) VALUES ($1, $2, $3, $4) RETURNING id, created_at`,
			a.Address.Key, a.Address.Typed, a.Name, a.Language).Scan(&a.ID, &a.CreatedAt)
		if err != nil {
			return err
		}
		for course, role := range a.Grants {
			if err := grant(ctx, tx, a.ID, access.Grant{Role: role, Course: course}); err != nil {
				return err
			}
			if err := audit(ctx, tx, by, granted(a.ID, access.Grant{Role: role, Course: course})); err != nil {
				return err
			}
		}
		return audit(ctx, tx, by, access.Entry{Action: access.AccountAdded, AboutAccount: a.ID})
	})
	if enroll.CodeOf(err) == enroll.Conflict {
		err = enroll.Errorf(enroll.Conflict, "this address has an account already")
	}
	return a, err
}

// Grant gives an account a role for a course or for all, in place of the role
// that it has for that. The error has code NotFound if there is no such account,
// Invalid if there is no such course, and LastAdmin if no admin would be left.
func (s *Store) Grant(ctx context.Context, by access.Caller, id access.AccountID, g access.Grant) (access.Account, error) {
	return s.changeAccount(ctx, "granting a role", by, id, granted(id, g), func(tx pgx.Tx) error { return grant(ctx, tx, id, g) })
}

// granted is the entry about a grant.
func granted(id access.AccountID, g access.Grant) access.Entry {
	return access.Entry{Action: access.RoleGranted, AboutAccount: id, Course: g.Course, Details: map[string]any{"role": g.Role}}
}

func grant(ctx context.Context, tx pgx.Tx, id access.AccountID, g access.Grant) error {
	tag, err := tx.Exec(ctx, `
		INSERT INTO grants (account_id, course_id, role)
		SELECT $1, c.id, $3 FROM (SELECT id FROM courses WHERE slug = $2 UNION ALL SELECT NULL WHERE $2 = '') c
		ON CONFLICT (account_id, course_id) DO UPDATE SET role = excluded.role`, id, g.Course, g.Role)
	if err == nil && tag.RowsAffected() == 0 {
		err = enroll.FaultIn("course", enroll.Invalid, "unknown", "must be the slug of a course that exists")
	}
	return err
}

// Revoke takes the role that an account has for a course, or for all courses, if
// it has one. The error has code NotFound if there is no such account, and
// LastAdmin if no admin would be left.
func (s *Store) Revoke(ctx context.Context, by access.Caller, id access.AccountID, course string) (access.Account, error) {
	entry := access.Entry{Action: access.RoleRevoked, AboutAccount: id, Course: course}
	return s.changeAccount(ctx, "revoking a role", by, id, entry, func(tx pgx.Tx) error {
		if course == access.AllCourses {
			_, err := tx.Exec(ctx, `DELETE FROM grants WHERE account_id = $1 AND course_id IS NULL`, id)
			return err
		}
		courses, err := courseIDs(ctx, tx, "course", []string{course})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM grants WHERE account_id = $1 AND course_id = $2`, id, courses[0])
		return err
	})
}

// SetDisabled disables an account or enables it. The error has code NotFound if
// there is no such account, and LastAdmin if no admin would be left.
func (s *Store) SetDisabled(ctx context.Context, by access.Caller, id access.AccountID, disabled bool) (access.Account, error) {
	entry := access.Entry{Action: access.AccountEnabled, AboutAccount: id}
	if disabled {
		entry.Action = access.AccountDisabled
	}
	return s.changeAccount(ctx, "disabling an account", by, id, entry, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE accounts SET disabled = $2 WHERE id = $1 AND disabled <> $2`, id, disabled)
		return err
	})
}

// changeAccount changes an account that exists, records it, and returns the
// account.
func (s *Store) changeAccount(ctx context.Context, doing string, by access.Caller, id access.AccountID, entry access.Entry, change func(pgx.Tx) error) (a access.Account, err error) {
	err = s.changeAccess(ctx, doing, by, 0, func(tx pgx.Tx) error {
		read := func() error {
			rows, err := tx.Query(ctx, selectAccounts+`WHERE a.id = $1`, id)
			if err != nil {
				return err
			}
			if a, err = pgx.CollectExactlyOneRow(rows, scanAccount); errors.Is(err, pgx.ErrNoRows) {
				err = notFound("account")
			}
			return err
		}
		if err := read(); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		if err := audit(ctx, tx, by, entry); err != nil {
			return err
		}
		return read()
	})
	return a, err
}

// changeAccess runs a change of accounts, grants or tokens in a transaction, one
// such change at a time. The caller must still have the right to it: what an API
// process remembers may be a second old, and in that time a caller who was just
// disabled could take its rights back. Own is the account that the caller may
// change as its own, 0 for none.
func (s *Store) changeAccess(ctx context.Context, doing string, by access.Caller, own access.AccountID, change func(pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM access_versions FOR UPDATE`); err != nil {
			return err
		}
		if err := mayChange(ctx, tx, by, own); err != nil {
			return err
		}
		return change(tx)
	})
	if err != nil {
		return translate(doing, err)
	}
	return nil
}

// mayChange returns an error unless the caller's token is good and either manages
// accounts or belongs to the account own.
func mayChange(ctx context.Context, tx pgx.Tx, by access.Caller, own access.AccountID) error {
	if by.IsOperator() {
		return nil
	}
	var account access.AccountID
	var manages, readOnly bool
	err := tx.QueryRow(ctx, `
		SELECT t.account_id, t.read_only,
		       NOT t.read_only AND t.course_ids IS NULL AND EXISTS (SELECT FROM grants g WHERE g.account_id = t.account_id AND g.role = 'admin')
		FROM api_tokens t JOIN accounts a ON a.id = t.account_id
		WHERE t.id = $1 AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp() AND NOT a.disabled`, by.Token.ID).Scan(&account, &readOnly, &manages)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return access.ErrBadToken
	case err != nil:
		return err
	case !manages && (readOnly || own == 0 || account != own):
		return access.ErrManagersOnly
	}
	return nil
}
