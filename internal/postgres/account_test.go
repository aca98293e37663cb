package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// addAccount adds an account with grants and a token, and returns it with the
// caller that the token makes.
func addAccount(t *testing.T, s *postgres.Store, email string, grants access.Grants) (access.Account, access.Caller) {
	t.Helper()
	account, err := access.NewAccount(access.AccountInput{Name: "Grace", Email: email})
	if err != nil {
		t.Fatal(err)
	}
	account.Grants = grants
	if account, err = s.AddAccount(t.Context(), access.Operator, account); err != nil {
		t.Fatal(err)
	}
	token, err := s.AddToken(t.Context(), access.Operator, newToken(t, account.ID), access.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.Key(t.Context(), token.ID)
	if err != nil || !key.Good {
		t.Fatalf("the key is %+v, %v", key, err)
	}
	return account, key.Caller()
}

func newToken(t *testing.T, account access.AccountID) access.Token {
	t.Helper()
	token, err := access.NewToken(access.TokenInput{Name: "laptop"}, account, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

var admin = access.Grants{access.AllCourses: access.Admin}

func TestAccounts(t *testing.T) {
	t.Parallel()
	s := pgtest.Store(t)
	ctx := t.Context()
	if err := s.CreateCourse(ctx, enroll.Course{Slug: "go", Title: "Go"}); err != nil {
		t.Fatal(err)
	}
	grace, _ := addAccount(t, s, "Grace@example.org", nil)
	again := access.Account{Name: "Other", Address: grace.Address, Language: enroll.German}
	if _, err := s.AddAccount(ctx, access.Operator, again); enroll.CodeOf(err) != enroll.Conflict {
		t.Errorf("the same address again: %v", err)
	}
	for _, step := range []struct {
		course string
		role   access.Role
	}{{"go", access.Door}, {"go", access.Organiser}, {"", access.Door}} {
		if _, err := s.Grant(ctx, access.Operator, grace.ID, access.Grant{Role: step.role, Course: step.course}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.AccountByAddress(ctx, "grace@example.org")
	if err != nil || len(got.Grants) != 2 || got.Grants["go"] != access.Organiser || got.Grants[""] != access.Door || got.Address.Typed != "Grace@example.org" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = s.Revoke(ctx, access.Operator, grace.ID, ""); err != nil || len(got.Grants) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err = s.Revoke(ctx, access.Operator, grace.ID, "sql"); enroll.CodeOf(err) != enroll.Invalid {
		t.Errorf("a course that is not there: %v", err)
	}
	if _, err = s.Grant(ctx, access.Operator, grace.ID, access.Grant{Role: access.Door, Course: "sql"}); enroll.CodeOf(err) != enroll.Invalid {
		t.Errorf("a course that is not there: %v", err)
	}
	for _, err := range []error{
		second(s.Account(ctx, 99)), second(s.Grant(ctx, access.Operator, 99, access.Grant{Role: access.Door})), second(s.Revoke(ctx, access.Operator, 99, "")),
		second(s.SetDisabled(ctx, access.Operator, 99, true)), second(s.Tokens(ctx, 99)), second(s.RevokeToken(ctx, access.Operator, grace.ID, 99)),
		second(s.RevokeToken(ctx, access.Operator, 99, 1)), second(s.AddToken(ctx, access.Operator, newToken(t, 99), access.NewSecret())),
	} {
		if enroll.CodeOf(err) != enroll.NotFound {
			t.Errorf("what is not there: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestAccounts_keep_an_admin: whichever way the last one would go.
func TestAccounts_keep_an_admin(t *testing.T) {
	t.Parallel()
	s := pgtest.Store(t)
	ctx := t.Context()
	only, _ := addAccount(t, s, "only@example.org", admin)
	off, _ := addAccount(t, s, "off@example.org", admin)
	if _, err := s.SetDisabled(ctx, access.Operator, off.ID, true); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		second(s.SetDisabled(ctx, access.Operator, only.ID, true)),
		second(s.Revoke(ctx, access.Operator, only.ID, "")),
		second(s.Grant(ctx, access.Operator, only.ID, access.Grant{Role: access.Organiser})),
	} {
		if enroll.CodeOf(err) != enroll.LastAdmin {
			t.Errorf("the last admin goes: %v", err)
		}
	}
	if got, err := s.Account(ctx, only.ID); err != nil || got.Disabled || got.Grants[""] != access.Admin {
		t.Errorf("it is now %+v, %v", got, err)
	}
}

// TestAccounts_two_admins_disable_each_other: one of them remains, and whoever was
// disabled does nothing more, however fresh its token is in a process's memory.
func TestAccounts_two_admins_disable_each_other(t *testing.T) {
	t.Parallel()
	s := pgtest.Store(t)
	a, asA := addAccount(t, s, "a@example.org", admin)
	b, asB := addAccount(t, s, "b@example.org", admin)
	for n := range 10 {
		var wg sync.WaitGroup
		errs := make([]error, 2)
		wg.Go(func() { _, errs[0] = s.SetDisabled(context.Background(), asA, b.ID, true) })
		wg.Go(func() { _, errs[1] = s.SetDisabled(context.Background(), asB, a.ID, true) })
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("round %d: %v, %v", n, errs[0], errs[1])
		}
		if err := errors.Join(errs...); enroll.CodeOf(err) != enroll.Unauthorized {
			t.Errorf("round %d: the other one is told %v", n, err)
		}
		for _, id := range []access.AccountID{a.ID, b.ID} {
			if _, err := s.SetDisabled(t.Context(), access.Operator, id, false); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAccounts_rights_are_looked_at_again: what a process remembers may be a
// second old.
func TestAccounts_rights_are_looked_at_again(t *testing.T) {
	t.Parallel()
	for lost, want := range map[string]enroll.Code{
		`UPDATE api_tokens SET revoked_at = now() WHERE account_id = $1`:                                   enroll.Unauthorized,
		`UPDATE api_tokens SET created_at = '2020-01-01', expires_at = '2020-01-02' WHERE account_id = $1`: enroll.Unauthorized,
		`UPDATE accounts SET disabled = true WHERE id = $1`:                                                enroll.Unauthorized,
		`DELETE FROM grants WHERE account_id = $1`:                                                         enroll.Forbidden,
		`UPDATE grants SET role = 'organiser' WHERE account_id = $1`:                                       enroll.Forbidden,
		`UPDATE api_tokens SET read_only = true WHERE account_id = $1`:                                     enroll.Forbidden,
		`UPDATE api_tokens SET course_ids = '{1}' WHERE account_id = $1`:                                   enroll.Forbidden,
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			s := pgtest.Open(t, url)
			addAccount(t, s, "other@example.org", admin)
			target, _ := addAccount(t, s, "target@example.org", nil)
			account, caller := addAccount(t, s, "admin@example.org", admin)
			pgtest.Exec(t, url, lost, account.ID)
			for _, err := range []error{
				second(s.Grant(t.Context(), caller, target.ID, access.Grant{Role: access.Admin})),
				second(s.SetDisabled(t.Context(), caller, account.ID, false)),
				second(s.AddToken(t.Context(), caller, newToken(t, target.ID), access.NewSecret())),
				second(s.AddAccount(t.Context(), caller, access.Account{Name: "x", Address: enroll.Address{Typed: "x@example.org", Key: "x@example.org"}, Language: "en"})),
			} {
				if enroll.CodeOf(err) != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			own := second(s.AddToken(t.Context(), caller, newToken(t, account.ID), access.NewSecret()))
			if code := enroll.CodeOf(own); want == enroll.Unauthorized && code != want {
				t.Errorf("a token that is not good made another: %v", own)
			}
			nobody := second(s.Grant(t.Context(), access.Caller{}, target.ID, access.Grant{Role: access.Admin}))
			if enroll.CodeOf(nobody) != enroll.Unauthorized {
				t.Errorf("an anonymous caller: %v", nobody)
			}
		})
	}
}

// TestAccessVersion: every change that API processes must hear of raises it, and
// nothing else does.
func TestAccessVersion(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	addAccount(t, s, "a@example.org", admin)
	addAccount(t, s, "b@example.org", admin)
	version := func() int64 {
		t.Helper()
		v, err := s.AccessVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, change := range []struct {
		sql    string
		raises bool
	}{
		{`INSERT INTO accounts (email_key, email, name) VALUES ('c@example.org', 'c@example.org', 'c')`, true},
		{`UPDATE accounts SET disabled = true WHERE email_key = 'a@example.org'`, true},
		{`UPDATE accounts SET disabled = false WHERE email_key = 'a@example.org'`, true},
		{`INSERT INTO grants (account_id, role) SELECT id, 'door' FROM accounts WHERE email_key = 'c@example.org'`, true},
		{`UPDATE grants SET role = 'organiser' WHERE role = 'door'`, true},
		{`DELETE FROM grants WHERE role = 'organiser'`, true},
		{`UPDATE api_tokens SET last_used_at = now()`, false},
		{`UPDATE api_tokens SET name = 'other'`, false},
		{`UPDATE api_tokens SET read_only = true`, true},
		{`UPDATE api_tokens SET expires_at = expires_at - interval '1 h'`, true},
		{`UPDATE api_tokens SET revoked_at = now()`, true},
		{`INSERT INTO courses (slug, title) VALUES ('go', 'Go')`, false},
	} {
		before := version()
		pgtest.Exec(t, url, change.sql)
		if raised := version() > before; raised != change.raises {
			t.Errorf("%s: raised %t", change.sql, raised)
		}
	}
}

// TestAccountSchema tries to write wrong states past the code.
func TestAccountSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	addAccount(t, s, "a@example.org", admin)
	if err := s.CreateCourse(t.Context(), enroll.Course{Slug: "go", Title: "Go"}); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"an admin of one course":       `INSERT INTO grants (account_id, course_id, role) SELECT a.id, c.id, 'admin' FROM accounts a, courses c`,
		"an unknown role":              `INSERT INTO grants (account_id, course_id, role) SELECT a.id, c.id, 'owner' FROM accounts a, courses c`,
		"two roles for all courses":    `INSERT INTO grants (account_id, role) SELECT id, 'door' FROM accounts`,
		"a role of no account":         `INSERT INTO grants (account_id, role) VALUES (99, 'door')`,
		"a token of no account":        `UPDATE api_tokens SET account_id = 99`,
		"a token for four years":       `UPDATE api_tokens SET expires_at = created_at + interval '4 years'`,
		"a token for no course":        `UPDATE api_tokens SET course_ids = '{}'`,
		"a short hash":                 `UPDATE api_tokens SET hash = '\x00'`,
		"a second version":             `INSERT INTO access_versions (single, version) VALUES (false, 1)`,
		"an account goes that has any": `DELETE FROM accounts`,
		"the last admin is disabled":   `UPDATE accounts SET disabled = true`,
		"the last admin's role goes":   `DELETE FROM grants`,
		"the last admin gets another":  `UPDATE grants SET role = 'door'`,
		"a course gets another slug":   `UPDATE courses SET slug = 'sql'`,
	} {
		pg, is := errors.AsType[*pgconn.PgError](s.Ask(t.Context(), sql))
		if !is && enroll.CodeOf(s.Ask(t.Context(), sql)) != enroll.LastAdmin || is && pg.Code[:2] != "23" {
			t.Errorf("%s: %v", name, pg)
		}
	}
}
