package postgres_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

var (
	scanPattern      = regexp.MustCompile(`(Scan|Scan using \S+) on (requests|lines|runs|users|attendances|waiting|mails|retired_ids)\b`)
	runPattern       = regexp.MustCompile(`Index Cond: \(run_id = [^()]+\)$`)
	parameterPattern = regexp.MustCompile(`\$(\d+)`)
)

// TestPlans: whatever the tables' sizes are when a plan is made and kept, each
// hot statement looks its rows up one by one.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 5, 60, 200, 1000} {
		for _, runs := range []int{1, 100} {
			t.Run(fmt.Sprintf("%d requests of %d runs", size, runs), func(t *testing.T) {
				t.Parallel()
				url := pgtest.URL(t)
				fill(t, url, size, runs)
				conn, err := pgx.Connect(t.Context(), pgtest.Way(t, url))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				tx, err := conn.Begin(t.Context()) // a pooler hands a session out for one
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(context.Background())
				o := pgtest.Options
				o.IdleInTransactionTimeout = time.Minute
				if _, err := tx.Exec(t.Context(), postgres.SetForTransaction(o)); err != nil {
					t.Fatal(err)
				}
				for name, sql := range postgres.HotStatements {
					plan := explain(t, tx, name, sql)
					if table := scanned(plan); table != "" {
						t.Errorf("%s goes through all of %s:\n%s", name, table, plan)
					}
				}
			})
		}
	}
}

// fill makes a ledger of that size and has its statistics gathered.
func fill(t *testing.T, url string, size, runs int) {
	t.Helper()
	enrolltest.OpenRun(t, pgtest.Open(t, url), "run-0", nil)
	// Together: looking up the zone of one takes 30 ms, and of the next nothing.
	pgtest.Exec(t, url, `
		INSERT INTO runs (course_id, slug, location, time_zone, starts_at, ends_at, opens_at, closes_at, language, waitlist_capacity, promote_until)
		SELECT course_id, 'run-' || n, location, time_zone, starts_at, ends_at, opens_at, closes_at, language, waitlist_capacity, promote_until
		FROM runs, generate_series(1, $1::integer - 1) n ORDER BY n`, runs)
	pgtest.Damage(t, url, `
		INSERT INTO requests (run_id, ticket, id, kind, status, name, email, email_key, accepted_at, decided_at)
		SELECT 1 + n % $2::integer, 1 + n / $2::integer, gen_random_uuid(), 'register', 'confirmed', 'p', 'p' || n || '@example.org',
		       'p' || n || '@example.org', now(), now()
		FROM generate_series(0, $1::integer - 1) n`, size, runs)
	pgtest.Damage(t, url, `INSERT INTO users (email_key, email, name) SELECT email_key, email, name FROM requests`)
	for _, table := range []string{"attendances", "waiting"} {
		pgtest.Damage(t, url, `
			INSERT INTO `+table+` (run_id, user_id, ticket)
			SELECT q.run_id, u.id, q.ticket FROM requests q JOIN users u USING (email_key)`)
	}
	pgtest.Damage(t, url, `INSERT INTO mails (run_id, ticket, kind) SELECT run_id, ticket, 'confirmed' FROM requests`)
	pgtest.Damage(t, url, `ANALYZE`)
}

// explain returns the plan that the statement gets and keeps.
func explain(t *testing.T, conn pgx.Tx, name, sql string) string {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "PREPARE hot_"+name+" AS "+sql); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	most := 0
	for _, m := range parameterPattern.FindAllStringSubmatch(sql, -1) {
		var n int
		_, _ = fmt.Sscan(m[1], &n) // digits
		most = max(most, n)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL,", most), ",")
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE hot_"+name+"("+nulls+")", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.Join(lines, "\n")
}

// scanned returns a table that a plan reads without a condition that finds the
// rows, or by the run alone so that it looks at each of the run's rows, or "".
func scanned(plan string) string {
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		m := scanPattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found, byRun := false, false
		for _, below := range lines[i+1:] {
			if strings.Contains(below, "->") || strings.HasPrefix(strings.TrimSpace(below), "CTE ") {
				break
			}
			byRun = byRun || runPattern.MatchString(below)
			if byRun && strings.Contains(below, "Filter:") {
				return m[2]
			}
			found = found || strings.Contains(below, "Index Cond:") || strings.Contains(below, "Recheck Cond:") || strings.Contains(below, "TID Cond:")
		}
		if !found {
			return m[2]
		}
	}
	return ""
}

func TestScanned(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]string{
		"Index Scan using requests_pkey on requests q\n  Index Cond: (run_id = 1)":                            "",
		"Tid Scan on runs r\n  TID Cond: (ctid = o.ctid)":                                                     "",
		"Merge Join\n  ->  Index Scan using requests_pkey on requests q\n  ->  Sort\n        Index Cond: (x)": "requests",
		"Seq Scan on lines l": "lines",
		"Index Scan using waiting_run_id_ticket_key on waiting w\n  Index Cond: (run_id = $6)\n  Filter: (user_id = u.id)": "waiting",
		"Index Scan using waiting_run_id_ticket_key on waiting w\n  Index Cond: (run_id = r.id)":                           "",
	} {
		if got := scanned(plan); got != want {
			t.Errorf("%q: %q, want %q", plan, got, want)
		}
	}
}
