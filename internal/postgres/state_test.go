package postgres_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestStates: a run's state never goes back, and only what organisers edit raises
// its version.
func TestStates(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	enrolltest.OpenRun(t, s, "a", enrolltest.Seats(1))
	pgtest.Exec(t, url, `INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at, state)
		SELECT course_id, 'draft', time_zone, starts_at, ends_at, opens_at, closes_at, 'draft' FROM runs`)
	for name, sql := range map[string]string{
		"back to a draft":           `UPDATE runs SET state = 'draft' WHERE slug = 'a'`,
		"from a draft to the shelf": `UPDATE runs SET state = 'archived', called_off = true WHERE slug = 'draft'`,
		"archived before its end":   `UPDATE runs SET state = 'archived' WHERE slug = 'a'`,
		"an unknown state":          `UPDATE runs SET state = 'lost' WHERE slug = 'draft'`,
		"another course":            `UPDATE runs SET course_id = 0`,
	} {
		if err := s.Ask(t.Context(), sql); err == nil {
			t.Errorf("%s: the database took it", name)
		}
	}
	version := func() int64 {
		t.Helper()
		r, err := s.Run(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return r.Version
	}
	for _, change := range []struct {
		sql    string
		raises bool
	}{
		{`UPDATE runs SET location = 'Room 7'`, true},
		{`UPDATE runs SET location = 'Room 7'`, false},
		{`UPDATE runs SET closes_at = closes_at + interval '1 h', promote_until = starts_at`, true},
		{`UPDATE runs SET settled_ticket = settled_ticket, attendances_count = attendances_count, capacity = 7`, false},
		{`UPDATE runs SET called_off = true`, false},
		{`UPDATE runs SET state = 'archived' WHERE slug = 'a'`, true},
	} {
		before := version()
		pgtest.Damage(t, url, change.sql)
		if raised := version() - before; raised != map[bool]int64{true: 1}[change.raises] {
			t.Errorf("%s: raised by %d", change.sql, raised)
		}
	}
}

// TestAccept_drafts: to the public there is no such run, in the statement that
// accepts. Others of the batch get what they would get alone.
func TestAccept_drafts(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	enrolltest.OpenRun(t, s, "a", enrolltest.Seats(5))
	enrolltest.OpenRun(t, s, "b", enrolltest.Seats(5))
	pgtest.Damage(t, url, `ALTER TABLE runs DISABLE TRIGGER runs_keep_state; UPDATE runs SET state = 'draft' WHERE slug = 'b'; ALTER TABLE runs ENABLE TRIGGER runs_keep_state`)
	organisers := enrolltest.Person("b", 2)
	organisers.ByOrganiser, organisers.OutsideWindow = true, true
	results, err := s.Accept(t.Context(), []enroll.Submission{enrolltest.Person("b", 1), enrolltest.Person("a", 1), organisers, enrolltest.Person("a", 2), resize(t, 3)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []enroll.Code{enroll.NotFound, "", enroll.RunIsDraft, "", ""} {
		if got := enroll.CodeOf(results[i].Err); got != want {
			t.Errorf("submission %d gets %q, want %q", i, got, want)
		}
	}
	if tickets := pgtest.Query[int64](t, url, `SELECT last_ticket FROM lines ORDER BY run_id`); tickets[0] != 3 || tickets[1] != 0 {
		t.Errorf("the lines end at %v", tickets)
	}
}
