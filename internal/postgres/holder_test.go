package postgres_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestHolders(t *testing.T) {
	t.Parallel()
	const named = `SET LOCAL application_name = 'psql'; `
	for name, c := range map[string]struct {
		locks []string // each is taken by a session of its own
		want  int      // of the run's row
		line  int      // of the head of the line
	}{
		"nothing is held": {},
		"FOR UPDATE":      {[]string{`SELECT FROM runs WHERE slug = 'a' FOR UPDATE`}, 1, 0},
		"an update":       {[]string{`UPDATE runs SET location = 'there' WHERE slug = 'a'`}, 1, 0},
		"shared by two sessions": {[]string{
			`SELECT FROM runs WHERE slug = 'a' FOR SHARE`, `SELECT FROM runs WHERE slug = 'a' FOR SHARE`,
		}, 2, 0},
		"shared with a session that blocks nothing": {[]string{
			`SELECT FROM runs WHERE slug = 'a' FOR NO KEY UPDATE`, `SELECT FROM runs WHERE slug = 'a' FOR KEY SHARE`,
		}, 1, 0},
		"the head of the line": {[]string{`SELECT FROM lines FOR UPDATE`}, 0, 1},
		"another run":          {[]string{`SELECT FROM runs WHERE slug = 'b' FOR UPDATE`}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			s := pgtest.Open(t, url)
			run := enrolltest.OpenRun(t, s, "a", nil)
			if name == "another run" {
				enrolltest.OpenRun(t, s, "b", nil)
			}
			var releases []func()
			for _, sql := range c.locks {
				releases = append(releases, pgtest.Hold(t, url, named+sql))
			}
			var pids []int
			rows := map[bool]int{}
			for _, h := range holders(t, s, run) {
				rows[h.Line]++
				pids = append(pids, h.PID)
				if h.Run != "a" || h.Application != "psql" || h.State != "idle in transaction" || h.Age <= 0 {
					t.Errorf("got %+v", h)
				}
			}
			slices.Sort(pids)
			if rows[false] != c.want || rows[true] != c.line || len(slices.Compact(pids)) != c.want+c.line {
				t.Errorf("found %d holders of the run's row and %d of the line, pids %v", rows[false], rows[true], pids)
			}
			for _, release := range releases {
				release()
			}
			waitUntilFree(t, s, run)
		})
	}
}

// TestHoldersAreNamedToAnOrdinaryRole: without pg_read_all_stats, the server
// shows the pid of another role's session, but neither its name nor its state.
func TestHoldersAreNamedToAnOrdinaryRole(t *testing.T) {
	t.Parallel()
	admin := pgtest.URL(t)
	run := enrolltest.OpenRun(t, pgtest.Open(t, admin), "a", nil)
	parsed, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	role := "role_" + strings.TrimPrefix(parsed.Path, "/")
	pgtest.Exec(t, admin, "CREATE ROLE "+role+" LOGIN PASSWORD 'ordinary'")
	t.Cleanup(func() { pgtest.Exec(t, admin, "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	pgtest.Exec(t, admin, "GRANT SELECT ON runs, lines TO "+role)
	parsed.User = url.UserPassword(role, "ordinary")
	s := pgtest.Open(t, parsed.String())

	for range 2 { // shared, so that the row has a multixact
		pgtest.Hold(t, admin, `SELECT FROM runs FOR SHARE`)
	}
	for _, granted := range []bool{false, true} {
		if granted {
			pgtest.Exec(t, admin, "GRANT pg_read_all_stats TO "+role)
		}
		found := holders(t, s, run)
		if len(found) != 2 {
			t.Fatalf("found %v", found)
		}
		for _, h := range found {
			if h.PID == 0 || (h.State != "") != granted || strings.Contains(h.String(), "grant pg_read_all_stats") == granted {
				t.Errorf("with the grant %t: %s (%+v)", granted, h, h)
			}
		}
	}
}

func holders(t *testing.T, s *postgres.Store, run enroll.RunID) []enroll.Holder {
	t.Helper()
	found, err := s.Holders(t.Context(), []enroll.RunID{run})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// waitUntilFree waits until the server has noticed that the holders are gone.
func waitUntilFree(t *testing.T, s *postgres.Store, run enroll.RunID) {
	t.Helper()
	testwait.Until(t, "no transaction holds the rows", func() bool { return len(holders(t, s, run)) == 0 })
}
