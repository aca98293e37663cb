package postgres_test

import (
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestMigrateAmongTheLiving: programs that run meanwhile are told to try again at
// worst, once on each connection. What such a program asks stands here, since
// this one's statements need the newest schema.
func TestMigrateAmongTheLiving(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (string, *postgres.Store, func() []error) {
		url := pgtest.EmptyURL(t)
		if err := postgres.MigrateTo(t.Context(), url, 4); err != nil {
			t.Fatal(err)
		}
		pgtest.Exec(t, url, `
			INSERT INTO courses (slug, title) VALUES ('course', 'Course')`)
		pgtest.Exec(t, url, `
			INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at)
			SELECT id, 'a', 'Europe/Berlin', now() + interval '2 hours', now() + interval '3 hours', now(), now() + interval '1 hour' FROM courses`)
		pgtest.Exec(t, url, `INSERT INTO lines (run_id, last_ticket, last_accepted_at) SELECT id, 1, now() FROM runs`)
		pgtest.Exec(t, url, `
			INSERT INTO requests (run_id, ticket, id, kind, name, email, email_key, accepted_at)
			SELECT id, 1, gen_random_uuid(), 'register', 'Ada', 'ada@example.org', 'ada@example.org', last_accepted_at FROM runs JOIN lines ON run_id = id`)
		o := pgtest.Options
		o.MaxConns = 1
		s := pgtest.OpenWith(t, url, o)
		return url, s, func() (failed []error) {
			for _, sql := range []string{
				`SELECT * FROM runs WHERE slug = 'a'`,
				`SELECT email_key, idempotency_key, id FROM requests WHERE ticket = 1`,
				`UPDATE lines SET last_ticket = last_ticket RETURNING last_ticket`,
			} {
				if err := s.Ask(t.Context(), sql); err != nil {
					failed = append(failed, err)
				}
			}
			return failed
		}
	}

	t.Run("statements that were prepared before", func(t *testing.T) {
		t.Parallel()
		url, _, work := begin(t)
		if failed := work(); failed != nil {
			t.Fatal(failed)
		}
		if _, err := postgres.Migrate(t.Context(), url, pgtest.Options); err != nil {
			t.Fatal(err)
		}
		for _, err := range work() {
			if enroll.CodeOf(err) != enroll.Unavailable {
				t.Errorf("the first time after it, %v", err)
			}
		}
		if failed := work(); failed != nil {
			t.Errorf("the second time after it, %v", failed)
		}
		pgtest.RequireSound(t, url)
	})

	t.Run("it waits for nobody for long, and nobody for it", func(t *testing.T) {
		t.Parallel()
		url, s, work := begin(t)
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR NO KEY UPDATE`)
		migrated := make(chan error, 1)
		go func() {
			_, err := postgres.Migrate(t.Context(), url, pgtest.Options)
			migrated <- err
		}()
		pgtest.AwaitLockWaiters(t, url, 1)
		read := make(chan error, 1)
		go func() {
			read <- s.Ask(t.Context(), `SELECT * FROM runs WHERE slug = 'a'`)
		}()
		// It waits for the migration, or came when that had given up already.
		testwait.Until(t, "the reader waits or the migration has ended", func() bool { return pgtest.LockWaiters(t, url) == 2 || len(migrated) == 1 })
		release() // now the migration waits for whoever reads
		if err := <-read; err != nil {
			t.Errorf("whoever read a run meanwhile was told %v", err)
		}
		if err := <-migrated; err == nil || !strings.Contains(err.Error(), "run it again") {
			t.Errorf("the migration ended with %v", err)
		}
		if _, err := postgres.Migrate(t.Context(), url, pgtest.Options); err != nil {
			t.Errorf("in a quiet moment, %v", err)
		}
		work() // whose statement was prepared before
		if failed := work(); failed != nil {
			t.Error(failed)
		}
	})
}

// TestMigrateKeepsTheEndOfLists: the lists of runs that are there end when they
// would have, those of later runs at the begin.
func TestMigrateKeepsTheEndOfLists(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	if err := postgres.MigrateTo(t.Context(), url, 5); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, `INSERT INTO courses (slug, title) VALUES ('c', 'C')`)
	const add = `INSERT INTO runs (course_id, slug, time_zone, opens_at, closes_at, starts_at, ends_at, promote_until)
		SELECT id, $1, 'UTC', '2030-01-01Z', '2030-01-02Z', '2030-01-03Z', '2030-01-04Z', $2::timestamptz FROM courses`
	pgtest.Exec(t, url, add, "old", nil)
	pgtest.Exec(t, url, add, "early", "2030-01-02Z")
	if _, err := postgres.Migrate(t.Context(), url, pgtest.Options); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, add, "new", nil)
	s := pgtest.Open(t, url)
	for slug, want := range map[string]int{"early": 2, "new": 3, "old": 4} {
		if r, err := s.Run(t.Context(), slug); err != nil || r.ListEndsAt().UTC().Day() != want {
			t.Errorf("the list of %s ends at %v (%v), want day %d", slug, r.ListEndsAt(), err, want)
		}
	}
}
