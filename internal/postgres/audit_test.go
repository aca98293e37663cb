package postgres_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestAuditIsKept: nothing in it changes, and only what is old goes, by the one
// way there is.
func TestAuditIsKept(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	addAccount(t, s, "a@example.org", admin)
	pgtest.Exec(t, url, `INSERT INTO audit (action, at) SELECT 'old', now() - days * interval '1 day' FROM generate_series(20, 60, 10) days`)
	for name, sql := range map[string]string{
		"an entry changes":               `UPDATE audit SET action = 'x' WHERE action = 'old'`,
		"an entry goes":                  `DELETE FROM audit WHERE action = 'old' AND at < now() - interval '50 days'`,
		"all go":                         `TRUNCATE audit`,
		"an address that is too precise": `INSERT INTO audit (action, client) VALUES ('x', '192.0.2.1/32')`,
		"one of IPv6":                    `INSERT INTO audit (action, client) VALUES ('x', '2001:db8::/56')`,
		"a token without its account":    `INSERT INTO audit (action, token_id) VALUES ('x', 1)`,
	} {
		if err := s.Ask(t.Context(), sql); enroll.CodeOf(err) != enroll.Internal && enroll.CodeOf(err) != enroll.Unavailable || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	count := func() int64 {
		t.Helper()
		return pgtest.Query[int64](t, url, `SELECT count(*) FROM audit WHERE action = 'old'`)[0]
	}
	if n := count(); n != 5 {
		t.Fatalf("%d of 5 are left", n)
	}
	if n, err := s.PruneAudit(t.Context(), 45); err != nil || n != 2 || count() != 3 {
		t.Errorf("%d pruned, %d left, %v", n, count(), err)
	}
	if _, err := s.PruneAudit(t.Context(), 10); err == nil || count() != 3 {
		t.Errorf("what is younger than a month was pruned: %d left, %v", count(), err)
	}
}
