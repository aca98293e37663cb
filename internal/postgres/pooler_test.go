package postgres_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// TestThroughAPooler runs the tests of accepting, settling, mail and the plans
// again, on stores that go through Debian's pgbouncer in transaction mode. With the
// variable that it sets, every test of every package that opens a store does so.
func TestThroughAPooler(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.parallel=4", "-test.timeout=20m",
		"-test.run=^Test(Accept|Settle|Seats|Correct|Line|Registration|Plans$|Claim|EndMail|Mails|Resend|RequestLinks|Lists)")
	cmd.Env = append(os.Environ(), pgtest.ThroughPoolerVariable+"="+pgtest.StartPooler(t))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := proc.RunGuarded(cmd); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestCheckSettings: a way to the server that prepared statements, settings or
// lane locks do not survive is refused by the name of the setting to change.
func TestCheckSettings(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	strict := pgtest.Through(t, pgtest.StartPooler(t), direct)
	lax := pgtest.Through(t, pgtest.StartPooler(t,
		"ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,idle_session_timeout,plan_cache_mode,enable_seqscan,jit"), direct)
	unprepared := pgtest.Options
	unprepared.Unprepared = true
	check := func(url string, o postgres.Options) error {
		s, err := postgres.Open(t.Context(), url, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.CheckSettings(t.Context())
	}
	locks := func(url string, _ postgres.Options) error {
		l, err := postgres.ConnectLaneLocks(t.Context(), url, pgtest.Options, time.Minute)
		if err == nil {
			l.Close()
		}
		return err
	}
	migrate := func(url string, o postgres.Options) error {
		_, err := postgres.Migrate(t.Context(), url, o)
		return err
	}
	for _, test := range []struct {
		name string
		do   func(string, postgres.Options) error
		url  string
		o    postgres.Options
		want string // in the error; "" = there is none
	}{
		{"prepared, direct", check, direct, pgtest.Options, ""},
		{"unprepared, direct", check, direct, unprepared, ""},
		{"unprepared, through a pooler", check, strict, unprepared, ""},
		{"unprepared, through a pooler that ignores parameters", check, lax, unprepared, ""},
		{"prepared, through a pooler", check, strict, pgtest.Options, "postgres.prepared_statements"},
		{"prepared, through a pooler that ignores parameters", check, lax, pgtest.Options, "postgres.prepared_statements"},
		{"lane locks, direct", locks, direct, pgtest.Options, ""},
		{"lane locks, through a pooler", locks, strict, pgtest.Options, "postgres.lock_url"},
		{"lane locks, through a pooler that ignores parameters", locks, lax, pgtest.Options, "postgres.lock_url"},
		{"migrating, direct", migrate, direct, unprepared, ""},
		{"migrating, through a pooler", migrate, strict, unprepared, "postgres.lock_url"},
		{"migrating, through a pooler that ignores parameters", migrate, lax, unprepared, "postgres.lock_url"},
	} {
		err := test.do(test.url, test.o)
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.want != "" && (enroll.CodeOf(err) != enroll.Internal || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want an error that names %s", test.name, err, test.want)
		}
	}
}

// BenchmarkModes accepts and settles people, so many in a batch, by each way to
// the server that is supported, in turns. docs/operations.md has its numbers.
func BenchmarkModes(b *testing.B) {
	direct := pgtest.URL(b)
	through := pgtest.Through(b, pgtest.StartPooler(b), direct)
	unprepared := pgtest.Options
	unprepared.Unprepared = true
	modes := []struct {
		name  string
		store *postgres.Store
	}{
		{"direct", pgtest.Open(b, direct)},
		{"unprepared", pgtest.OpenWith(b, direct, unprepared)},
		{"pgbouncer", pgtest.OpenWith(b, through, unprepared)},
	}
	for _, batch := range []int{1, 20, 100} {
		b.Run(fmt.Sprintf("%d_in_a_batch", batch), func(b *testing.B) {
			took := make([][]float64, len(modes)) // µs for each of the people
			for round := 0; b.Loop(); round++ {
				for i, m := range modes {
					slug := fmt.Sprintf("%s-%d-%d-%d", m.name, batch, b.N, round)
					run := enrolltest.OpenRun(b, m.store, slug, enrolltest.Seats(30))
					began := time.Now()
					acceptAndSettle(b, m.store, run, slug, batch)
					took[i] = append(took[i], float64(time.Since(began).Microseconds())/float64(5*batch))
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, m := range modes {
				slices.Sort(took[i])
				b.ReportMetric(took[i][len(took[i])/2], m.name+"-µs/person")
			}
		})
	}
}

// acceptAndSettle does so for five batches.
func acceptAndSettle(b *testing.B, s *postgres.Store, run enroll.RunID, slug string, batch int) {
	b.Helper()
	for i := range 5 {
		var all []enroll.Submission
		for n := range batch {
			all = append(all, enrolltest.Person(slug, i*batch+n))
		}
		if _, err := s.Accept(b.Context(), all); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Settle(b.Context(), []enroll.RunID{run}, enrolltest.SettleLimits(512)); err != nil {
			b.Fatal(err)
		}
	}
}
