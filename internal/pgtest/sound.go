package pgtest

import (
	"context"
	"sync"
	"testing"

	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// RequireSound fails the test if the ledger at url breaks a rule: those of
// internal/doctor, by which every line is settled again, too. Every test that
// settles ends with it, unless it changed a capacity or an outcome by SQL.
func RequireSound(t testing.TB, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	defer cancel()
	s, err := postgres.Open(ctx, url, Options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	slugs, err := s.Slugs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, slug := range slugs {
		found, err := s.CheckUp(ctx, slug)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("a rule is broken: %s", f)
		}
	}
}

// damaged has the URLs of databases that a test breaks on purpose.
var damaged sync.Map

// Damage is Exec for a statement after which counters need not equal rows.
func Damage(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	damaged.Store(url, true)
	Exec(t, url, sql, args...)
}

// requireCounters fails the test if a counter of the ledger is not the number of
// rows that it counts. It runs after every test that has a database.
func requireCounters(t testing.TB, url string) {
	t.Helper()
	if _, is := damaged.Load(url); is {
		return
	}
	for _, wrong := range Query[string](t, url, `
		SELECT slug || ': ' || attendances_count || ' of ' || seats || ' seats, ' || waiting_count || ' of ' || places || ' places'
		FROM runs r
		CROSS JOIN LATERAL (SELECT count(*) AS seats FROM attendances a WHERE a.run_id = r.id) a
		CROSS JOIN LATERAL (SELECT count(*) AS places FROM waiting w WHERE w.run_id = r.id) w
		WHERE attendances_count <> seats OR waiting_count <> places`) {
		t.Errorf("counters differ from rows: %s", wrong)
	}
}
