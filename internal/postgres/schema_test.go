package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	s := pgtest.Open(t, url)
	if err := s.Ready(t.Context()); enroll.CodeOf(err) != enroll.Unavailable {
		t.Errorf("without a schema, ready says %v", err)
	}
	var wg sync.WaitGroup
	applied := make([]int, 3)
	for i := range applied {
		wg.Go(func() {
			done, err := postgres.Migrate(context.Background(), url, pgtest.Options)
			if err != nil {
				t.Error(err)
			}
			applied[i] = len(done)
		})
	}
	wg.Wait()
	if sum := applied[0] + applied[1] + applied[2]; sum != slices.Max(applied) || sum == 0 {
		t.Errorf("three at once applied %v migrations", applied)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSchema tries to write wrong states past the code.
func TestSchema(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(1))
	enrolltest.OpenRun(t, s, "b", enrolltest.Seats(1))
	accept(t, s, enrolltest.Submission("a", "ada@example.org", "key"), enrolltest.Person("a", 1), enrolltest.Person("a", 2))
	settle(t, s, run)
	accept(t, s, enrolltest.Person("a", 3))
	for name, sql := range map[string]string{
		"a second seat for the same person": `INSERT INTO attendances (run_id, user_id, ticket) SELECT run_id, user_id, 2 FROM attendances`,
		"two seats for one ticket":          `INSERT INTO attendances (run_id, user_id, ticket) SELECT a.run_id, u.id + 1, a.ticket FROM attendances a, users u`,
		"a request goes that has a seat":    `DELETE FROM requests WHERE ticket = 1`,
		"a request goes that has a mail":    `WITH a AS (DELETE FROM attendances) DELETE FROM requests WHERE ticket = 1`,
		"a request that has a seat moves":   `UPDATE requests SET ticket = 9 WHERE ticket = 1`,
		"a person goes who has a seat":      `DELETE FROM users`,
		"two users with one address":        `INSERT INTO users (email_key, email, name) SELECT email_key, email, name FROM users`,
		"a ticket issued twice":             `UPDATE requests SET ticket = 1 WHERE ticket = 2`,
		"a ticket below one":                `UPDATE requests SET ticket = 0 WHERE ticket = 4`,
		"an id twice":                       `UPDATE requests SET id = (SELECT id FROM requests WHERE ticket = 1) WHERE ticket = 2`,
		"a key twice in a run":              `UPDATE requests SET idempotency_key = 'key' WHERE ticket = 2`,
		"a line goes that has requests":     `DELETE FROM lines`,
		"an unknown kind":                   `UPDATE requests SET kind = 'bribe'`,
		"an unknown status":                 `UPDATE requests SET status = 'perhaps' WHERE ticket = 4`,
		"decided without an instant":        `UPDATE requests SET status = 'confirmed' WHERE ticket = 4`,
		"queued with an instant":            `UPDATE requests SET decided_at = now() WHERE ticket = 4`,
		"rejected without a reason":         `UPDATE requests SET reason = NULL WHERE ticket = 2`,
		"confirmed with a reason":           `UPDATE requests SET reason = 'full' WHERE ticket = 1`,
		"decided before it was accepted":    `UPDATE requests SET decided_at = accepted_at - interval '1 second' WHERE ticket = 1`,
		"a negative count of seats":         `UPDATE runs SET attendances_count = -1`,
		"a negative capacity":               `UPDATE runs SET capacity = -1`,
		"a line that goes back":             `UPDATE runs SET settled_ticket = 1 WHERE slug = 'a'`,
		"a run with another name":           `UPDATE runs SET slug = 'c' WHERE slug = 'b'`,
		"a run that ends before it starts":  `UPDATE runs SET ends_at = starts_at - interval '1 hour'`,
		"a window that closes first":        `UPDATE runs SET closes_at = opens_at`,
		"a window that never closes":        `UPDATE runs SET closes_at = 'infinity'`,
		"a window that was open always":     `UPDATE runs SET opens_at = '-infinity'`,
		"a run in the year 10000":           `UPDATE runs SET ends_at = '10000-01-01'`,
		"a slug that is no slug":            `INSERT INTO courses (slug, title) VALUES ('A b', 'x')`,
		"a course like an id":               `INSERT INTO courses (slug, title) VALUES ('4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e', 'x')`,
		"a course that becomes one":         `UPDATE courses SET slug = '4e0a4f067ac74a1ca6a50f3b1f4f7f0e'`,
		"a run like an id":                  `INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at) SELECT course_id, '4e0a4f067ac74a1ca6a50f3b1f4f7f0e', time_zone, starts_at, ends_at, opens_at, closes_at FROM runs`,
		"a course without a title":          `INSERT INTO courses (slug, title) VALUES ('x', '')`,
		"a run of no course":                `UPDATE runs SET course_id = 99`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			tag, err := conn.Exec(t.Context(), sql)
			if pg, is := errors.AsType[*pgconn.PgError](err); !is || pg.Code[:2] != "23" {
				t.Errorf("the database took it (%s): %v", tag, err)
			}
		})
	}
}

// TestComments: every table says what it is.
func TestComments(t *testing.T) {
	t.Parallel()
	silent := pgtest.Query[string](t, pgtest.URL(t), `
		SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		AND relname <> 'goose_db_version' AND obj_description(oid) IS NULL`)
	if len(silent) > 0 {
		t.Errorf("tables without a comment: %v", silent)
	}
}

// TestSettlingIsHot: a row that is decided stays on its page, so that no index has
// to be told, also when all of its page is decided in one transaction.
func TestSettlingIsHot(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(400))
	var all []enroll.Submission
	for i := range 500 {
		all = append(all, enrolltest.Submission("a", fmt.Sprintf("person-%d@example.org", i), uuid.NewString()))
	}
	accept(t, s, all...)
	pages := func() []string {
		return pgtest.Query[string](t, url, `SELECT (ctid::text::point)[0]::text FROM requests ORDER BY ticket`)
	}
	before := pages()
	settle(t, s, run)
	moved := 0
	for i, page := range pages() {
		if page != before[i] {
			moved++
		}
	}
	if len(before) != 500 || moved > 0 {
		t.Errorf("%d of %d requests moved to another page when they were decided", moved, len(before))
	}
}
