package postgres_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// TestExamplesAreCreatedOnce executes what docker-compose.yml does at every start.
func TestExamplesAreCreatedOnce(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("../../configs/examples.sql")
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.URL(t)
	pgtest.Exec(t, url, string(examples))
	pgtest.Exec(t, url, string(examples))
	if open := pgtest.Query[int](t, url, `SELECT count(*)::integer FROM runs WHERE opens_at <= now() AND now() < closes_at`); open[0] != 3 {
		t.Errorf("%d runs are open, want 3", open[0])
	}
	requireSeats(t, url, 3)
}

// requireSeats fails the test unless there are that many runs, and a person gets
// a seat in each that has any.
func requireSeats(t *testing.T, url string, runs int) {
	t.Helper()
	s := pgtest.Open(t, url)
	slugs := pgtest.Query[string](t, url, `SELECT slug FROM runs`)
	if len(slugs) != runs {
		t.Fatalf("the runs are %q, want %d", slugs, runs)
	}
	// The times may be of any year.
	pgtest.Exec(t, url, `UPDATE runs SET opens_at = now() - interval '1 hour', closes_at = now() + interval '1 hour',
		starts_at = now() + interval '2 hours', ends_at = now() + interval '3 hours'`)
	for _, slug := range slugs {
		if results := accept(t, s, enrolltest.Person(slug, 1)); results[0].Err != nil {
			t.Errorf("a request for a seat in %s: %v", slug, results[0].Err)
			continue
		}
		run, err := s.Run(t.Context(), slug)
		if err != nil {
			t.Fatal(err)
		}
		settle(t, s, pgtest.Query[enroll.RunID](t, url, `SELECT id FROM runs WHERE slug = $1`, slug)...)
		outcome := "confirmed"
		if run.Capacity != nil && *run.Capacity == 0 {
			outcome = "full"
		}
		requireOutcomes(t, url, slug, outcome)
	}
}

// TestRunsHaveLines: however a run is inserted, and whenever it was.
func TestRunsHaveLines(t *testing.T) {
	t.Parallel()
	const add = `INSERT INTO runs (course_id, slug, time_zone, opens_at, closes_at, starts_at, ends_at)
		SELECT id, '%', 'UTC', '2030-01-01Z', '2030-01-02Z', '2030-01-03Z', '2030-01-04Z' FROM courses`
	named := func(slug string) string { return strings.Replace(add, "%", slug, 1) }
	url := pgtest.EmptyURL(t)
	if err := postgres.MigrateTo(t.Context(), url, 17); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, `INSERT INTO courses (slug, title) VALUES ('c', 'C')`)
	pgtest.Exec(t, url, named("without"))
	pgtest.Exec(t, url, named("with"))
	pgtest.Exec(t, url, `INSERT INTO lines (run_id, last_ticket) SELECT id, 7 FROM runs WHERE slug = 'with'`)
	pgtest.Exec(t, url, named("beheaded"))
	pgtest.Exec(t, url, `INSERT INTO lines (run_id) SELECT id FROM runs WHERE slug = 'beheaded'`)
	pgtest.Exec(t, url, `INSERT INTO requests (run_id, ticket, id, kind, accepted_at)
		SELECT id, 1, gen_random_uuid(), 'close_waitlist', now() FROM runs WHERE slug = 'beheaded'`)
	pgtest.Damage(t, url, `TRUNCATE lines`)
	pgtest.Exec(t, url, `INSERT INTO lines (run_id, last_ticket) SELECT id, 7 FROM runs WHERE slug = 'with'`)

	if _, err := postgres.Migrate(t.Context(), url, pgtest.Options); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, named("later"))
	pgtest.Exec(t, url, `WITH run AS (`+named("together")+` RETURNING id)
		INSERT INTO lines (run_id, last_ticket) SELECT id, 3 FROM run`)
	for slug, want := range map[string][]int64{"without": {0}, "with": {7}, "beheaded": nil, "later": {0}, "together": {3}} {
		got := pgtest.Query[int64](t, url, `SELECT last_ticket FROM lines l JOIN runs r ON r.id = l.run_id WHERE r.slug = $1`, slug)
		if len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
			t.Errorf("the heads of %s are %v, want %v", slug, got, want)
		}
	}
}
