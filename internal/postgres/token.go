package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// AccessVersion returns a number that every change of accounts, grants and tokens
// raises.
func (s *Store) AccessVersion(ctx context.Context) (version int64, err error) {
	if err := s.pool.QueryRow(ctx, `SELECT version FROM access_versions`).Scan(&version); err != nil {
		return 0, translate("reading the version of accounts", err)
	}
	return version, nil
}

const selectTokens = `
SELECT t.id, t.account_id, t.name, t.created_at, t.expires_at, t.last_used_at, t.revoked_at, t.read_only,
       (SELECT array_agg(c.slug ORDER BY c.slug) FROM courses c WHERE c.id = ANY(t.course_ids))
FROM api_tokens t `

func scanToken(row pgx.CollectableRow) (t access.Token, err error) {
	var used, revoked *time.Time
	err = row.Scan(&t.ID, &t.Account, &t.Name, &t.CreatedAt, &t.ExpiresAt, &used, &revoked, &t.ReadOnly, &t.Courses)
	t.LastUsed, t.RevokedAt = orZero(used), orZero(revoked)
	return t, err
}

// orZero returns what the pointer leads to, or the zero value.
func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Key returns what is stored of a token. There is one row, whether or not there is
// such a token, so that its version is known.
func (s *Store) Key(ctx context.Context, id access.TokenID) (access.Key, error) {
	key := access.Key{Token: access.Token{ID: id}}
	var hash, grants []byte
	t := &key.Token
	err := s.pool.QueryRow(ctx, `
		SELECT v.version, t.hash IS NOT NULL, t.hash, coalesce(t.account_id, 0), coalesce(t.expires_at, v.epoch), coalesce(t.read_only, false),
		       (SELECT array_agg(c.slug ORDER BY c.slug) FROM courses c WHERE c.id = ANY(t.course_ids)),
		       (SELECT json_object_agg(coalesce(c.slug, ''), g.role) FROM grants g LEFT JOIN courses c ON c.id = g.course_id WHERE g.account_id = t.account_id)
		FROM (SELECT version, to_timestamp(0) AS epoch FROM access_versions) v
		LEFT JOIN (SELECT t.* FROM api_tokens t JOIN accounts a ON a.id = t.account_id
		           WHERE t.id = $1 AND t.revoked_at IS NULL AND NOT a.disabled) t ON true`, id).
		Scan(&key.Version, &key.Good, &hash, &t.Account, &t.ExpiresAt, &t.ReadOnly, &t.Courses, &grants)
	if err != nil {
		return access.Key{}, translate("reading a token", err)
	}
	copy(key.Hash[:], hash)
	if key.Grants, err = parseGrants(grants); err != nil {
		return access.Key{}, err
	}
	return key, nil
}

// parseGrants reads an object of roles by slug; nil is no grants.
func parseGrants(text []byte) (g access.Grants, err error) {
	if text == nil {
		return nil, nil //nolint:nilnil // an account without rights
	}
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, fmt.Errorf("reading grants: %w", err)
	}
	return g, nil
}

// NoteTokensUsed stores that the tokens were used in this hour. It raises no
// version.
func (s *Store) NoteTokensUsed(ctx context.Context, ids []access.TokenID) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE api_tokens SET last_used_at = date_trunc('hour', clock_timestamp(), 'UTC')
		WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < date_trunc('hour', clock_timestamp(), 'UTC'))`, ids)
	if err != nil {
		return translate("noting the use of tokens", err)
	}
	return nil
}

// Tokens returns the tokens of an account, the newest first, those that are
// revoked or expired included. The error has code NotFound if there is no such
// account.
func (s *Store) Tokens(ctx context.Context, account access.AccountID) ([]access.Token, error) {
	tokens, err := collect(ctx, s, "reading tokens", scanToken, selectTokens+`WHERE t.account_id = $1 ORDER BY t.id DESC`, account)
	if err == nil && len(tokens) == 0 {
		_, err = s.Account(ctx, account)
	}
	return tokens, err
}

// AddToken adds a token of an account for the caller and returns it with its id.
// The secret is not stored. The error has code NotFound if there is no such
// account, and Invalid if a course that the token is limited to does not exist.
//
// That the caller's own token is still good is read under the lock: a token that
// was revoked an instant ago makes none.
func (s *Store) AddToken(ctx context.Context, by access.Caller, t access.Token, secret access.Secret) (access.Token, error) {
	hash := secret.Hash()
	err := s.changeAccess(ctx, "adding a token", by, t.Account, func(tx pgx.Tx) error {
		courses, err := courseIDs(ctx, tx, "courses", t.Courses)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
			INSERT INTO api_tokens (account_id, name, hash, read_only, course_ids, expires_at)
			SELECT id, $2, $3, $4, $5, $6 FROM accounts WHERE id = $1 RETURNING id, created_at`,
			t.Account, t.Name, hash[:], t.ReadOnly, courses, t.ExpiresAt).Scan(&t.ID, &t.CreatedAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("account")
		}
		if err != nil {
			return err
		}
		return audit(ctx, tx, by, access.Entry{Action: access.TokenAdded, AboutAccount: t.Account, AboutToken: t.ID, Details: map[string]any{
			"expires_at": t.ExpiresAt.UTC(), "read_only": t.ReadOnly, "courses": t.Courses,
		}})
	})
	return t, err
}

// courseIDs returns the ids of courses, nil for nil. The fault of a course that
// does not exist names the field.
func courseIDs(ctx context.Context, tx pgx.Tx, field string, slugs []string) (ids []int32, err error) {
	if slugs == nil {
		return nil, nil //nolint:nilnil // all courses
	}
	rows, err := tx.Query(ctx, `SELECT id FROM courses WHERE slug = ANY($1)`, slugs)
	if err != nil {
		return nil, err
	}
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[int32]); err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	for _, slug := range slugs {
		known[slug] = true
	}
	if len(ids) < len(known) {
		return nil, enroll.FaultIn(field, enroll.Invalid, "unknown", "must name courses that exist")
	}
	return ids, nil
}

// RevokeToken ends a token of an account. Revoking it again changes nothing. The
// error has code NotFound if the account has no such token.
func (s *Store) RevokeToken(ctx context.Context, by access.Caller, account access.AccountID, id access.TokenID) (access.Token, error) {
	var t access.Token
	err := s.changeAccess(ctx, "revoking a token", by, account, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE api_tokens SET revoked_at = clock_timestamp() WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL`, id, account)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectTokens+`WHERE t.id = $1 AND t.account_id = $2`, id, account)
		if err != nil {
			return err
		}
		if t, err = pgx.CollectExactlyOneRow(rows, scanToken); errors.Is(err, pgx.ErrNoRows) {
			return notFound("token")
		}
		if err != nil {
			return err
		}
		return audit(ctx, tx, by, access.Entry{Action: access.TokenRevoked, AboutAccount: account, AboutToken: id})
	})
	return t, err
}
