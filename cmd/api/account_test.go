package main

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestAccountCommands goes the way of an operator: the first admin, its token, a
// second account, and who may do what.
func TestAccountCommands(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	pgtest.Exec(t, url, `INSERT INTO courses (slug, title) VALUES ('go', 'Go')`)
	api := func(line string) (string, error) {
		t.Helper()
		var out strings.Builder
		err := run(context.Background(), strings.Split(line, " "), []string{"LASTSEAT_POSTGRES_URL=" + url}, &out)
		return out.String(), err
	}
	well := func(line, want string) {
		t.Helper()
		out, err := api(line)
		if squeezed := strings.Join(strings.Fields(out), " "); err != nil || !strings.Contains(squeezed, want) {
			t.Errorf("api %s: %q, %v, want %q", line, squeezed, err, want)
		}
	}
	wrong := func(line, want string) {
		t.Helper()
		if out, err := api(line); err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("api %s: %q, %v, want %q", line, out, err, want)
		}
	}
	well("account add --email ada@example.org --name Ada --role admin", "1 ada@example.org Ada enabled admin")
	well("account add --email grace@example.org --name Grace --language de", "grace@example.org Grace enabled")
	well("account grant --email GRACE@example.org --role organiser --course go", "organiser of go")
	well("account grant --email grace@example.org --role door", "door, organiser of go")
	well("account revoke --email grace@example.org", "enabled organiser of go")
	well("account disable --email grace@example.org", "disabled")
	well("account enable --email grace@example.org", "enabled")
	well("account list", "ID EMAIL NAME STATE ROLES 1 ada@example.org Ada enabled admin 2 grace@example.org")
	wrong("account disable --email ada@example.org", "last_admin")
	wrong("account revoke --email ada@example.org", "last_admin")
	wrong("account add --email ada@example.org --name Ada", "conflict")
	wrong("account add --email ada --name", "usage")
	wrong("account add --email ada --name Ada --role king", "email: must be")
	wrong("account grant --email grace@example.org --role king", "role: must be")
	wrong("account grant --email grace@example.org --role door --course sql", "course: must")
	wrong("account grant --email nobody@example.org --role door", "not_found")

	out, err := api("token add --email ada@example.org --name laptop --days 30 --read-only --courses go")
	if _, _, ok := access.ParseToken(strings.TrimSuffix(out, "\n")); !ok || err != nil {
		t.Fatalf("the token is %q, %v", out, err)
	}
	well("token list --email ada@example.org", "1 laptop")
	well("token list --email ada@example.org", "read-only, go")
	well("token revoke --email ada@example.org --id 1", "")
	if got := pgtest.Query[bool](t, url, `SELECT revoked_at IS NOT NULL AND expires_at < now() + interval '31 d' FROM api_tokens`); !got[0] {
		t.Error("the token is not as it was asked for")
	}
	wrong("token revoke --email grace@example.org --id 1", "not_found") // another account's
	wrong("token revoke --email ada@example.org --id x", "id: must be")
	wrong("token add --email ada@example.org --name x --days 2000", "expires_at: must be within")
	wrong("token add --email ada@example.org --name x --days x", "days: must be")
	wrong("token add --email ada@example.org", "name: is required")
	for _, line := range []string{"account", "account drop", "account list now", "account list --email x", "token", "token show", "token add --role admin"} {
		if _, err := api(line); !errors.Is(err, errUsage) {
			t.Errorf("api %s: %v", line, err)
		}
	}
	if out, err := api("account add --help"); err != nil || out != usage {
		t.Errorf("help is %q, %v", out, err)
	}
	if _, err := parseAccount([]string{"add", "-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}
