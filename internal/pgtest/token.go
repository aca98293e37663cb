package pgtest

import (
	"testing"

	"github.com/lastseat/lastseat/internal/access"
)

// AdminToken is the API token that AddAdmin adds. Its secret is known, so that
// tests can look for it in logs.
var AdminToken = access.FormatToken(1_000_000, adminSecret)

var adminSecret = access.Secret{1, 2, 3, 4, 5, 6, 7, 8}

// AddAdmin adds an account that may do everything, with AdminToken, to the
// database at url.
func AddAdmin(t testing.TB, url string) {
	t.Helper()
	hash := adminSecret.Hash()
	Exec(t, url, `
		WITH a AS (
			INSERT INTO accounts (id, email_key, email, name) OVERRIDING SYSTEM VALUE
			VALUES (1000000, 'admin@example.org', 'admin@example.org', 'Admin') RETURNING id
		), g AS (INSERT INTO grants (account_id, role) SELECT id, 'admin' FROM a)
		INSERT INTO api_tokens (id, account_id, name, hash, expires_at) OVERRIDING SYSTEM VALUE
		SELECT 1000000, id, 'tests', $1, now() + interval '1 year' FROM a`, hash[:])
}
