package postgres_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestSettle(t *testing.T) {
	t.Parallel()

	t.Run("decides in ticket order and writes seats, people and counters", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(2))
		accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("a", 1), enrolltest.Person("a", 2), enrolltest.Person("a", 3), enrolltest.Person("a", 1))
		if p := settle(t, s, run)[run]; p.First != 1 || p.Last != 5 || p.More {
			t.Errorf("progress %+v", p)
		}
		requireOutcomes(t, url, "a", "confirmed", "already_registered", "confirmed", "full", "already_registered")
		pgtest.RequireSound(t, url)
		if p := settle(t, s, run)[run]; p.First <= p.Last {
			t.Errorf("a drained line made progress %+v", p)
		}
	})

	t.Run("of no runs is nothing", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Open(t, pgtest.URL(t))
		if progress := settle(t, s); len(progress) > 0 {
			t.Errorf("progress %+v", progress)
		}
	})

	t.Run("knows who holds a seat from earlier settlements", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		run := enrolltest.OpenRun(t, s, "a", nil)
		for range 2 {
			accept(t, s, enrolltest.Person("a", 1))
			settle(t, s, run)
		}
		requireOutcomes(t, url, "a", "confirmed", "already_registered")
		pgtest.RequireSound(t, url)
	})

	t.Run("takes one person into several runs as one user, as written first", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		a, b := enrolltest.OpenRun(t, s, "a", nil), enrolltest.OpenRun(t, s, "b", nil)
		accept(t, s, enrolltest.Submission("a", "Ada@Example.org", ""), enrolltest.Submission("b", "ada@example.org", ""))
		settle(t, s, a, b)
		if got := pgtest.Query[string](t, url, `SELECT email FROM users`); !slices.Equal(got, []string{"Ada@Example.org"}) {
			t.Errorf("users %v", got)
		}
		requireOutcomes(t, url, "b", "confirmed")
		pgtest.RequireSound(t, url)
	})

	t.Run("shares its budget among the runs and says that there is more", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		a, b := enrolltest.OpenRun(t, s, "a", nil), enrolltest.OpenRun(t, s, "b", nil)
		for i := range 10 {
			accept(t, s, enrolltest.Person("a", i))
		}
		accept(t, s, enrolltest.Person("b", 1))
		progress, err := s.Settle(t.Context(), []enroll.RunID{a, b}, enrolltest.SettleLimits(8))
		if err != nil {
			t.Fatal(err)
		}
		if p := progress[a]; p.Last != 4 || !p.More {
			t.Errorf("the long line: %+v", p)
		}
		if p := progress[b]; p.Last != 1 || p.More {
			t.Errorf("the short line: %+v", p)
		}
		pgtest.RequireSound(t, url)
	})

	t.Run("confirms nobody below a capacity that was lowered", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(2))
		accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("a", 2))
		settle(t, s, run)
		pgtest.Exec(t, url, `UPDATE runs SET capacity = 1`)
		accept(t, s, enrolltest.Person("a", 3))
		settle(t, s, run)
		requireOutcomes(t, url, "a", "confirmed", "confirmed", "full")
		state, err := s.Run(t.Context(), "a")
		if err != nil || !state.OverCapacity() || *state.SeatsLeft() != 0 {
			t.Errorf("over capacity %v, seats left %d: %v", state.OverCapacity(), *state.SeatsLeft(), err)
		}
	})

	t.Run("honours what was accepted in time although the window is edited", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(1))
		accept(t, s, enrolltest.Person("a", 1))
		pgtest.Exec(t, url, `UPDATE runs SET opens_at = now() + interval '1 day', closes_at = now() + interval '2 days'`)
		settle(t, s, run)
		requireOutcomes(t, url, "a", "confirmed")
	})

	t.Run("refuses a line with a hole and writes nothing", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		run := enrolltest.OpenRun(t, s, "a", nil)
		accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("a", 2), enrolltest.Person("a", 3))
		pgtest.Exec(t, url, `DELETE FROM requests WHERE ticket = 2`)
		_, err := s.Settle(t.Context(), []enroll.RunID{run}, enrolltest.SettleLimits(10))
		if enroll.CodeOf(err) != enroll.Internal || !strings.Contains(err.Error(), "hole") {
			t.Errorf("got %v", err)
		}
		requireOutcomes(t, url, "a", "queued", "queued")
	})
}

func TestSettleAtTheSameTime(t *testing.T) {
	t.Parallel()

	t.Run("skips a run that somebody else is settling", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		a, b := enrolltest.OpenRun(t, s, "a", nil), enrolltest.OpenRun(t, s, "b", nil)
		accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("b", 1))
		release := pgtest.Hold(t, url, `SELECT FROM runs WHERE id = $1 FOR NO KEY UPDATE`, a)
		progress := settle(t, s, a, b)
		if _, there := progress[a]; there || progress[b].Last != 1 {
			t.Errorf("progress %+v", progress)
		}
		release()
		testwait.Until(t, "the request is settled", func() bool { return settle(t, s, a)[a].Last == 1 })
		pgtest.RequireSound(t, url)
	})

	t.Run("many settlers of the same lines oversell nothing and settle nothing twice", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		runs := []enroll.RunID{enrolltest.OpenRun(t, s, "a", enrolltest.Seats(5)), enrolltest.OpenRun(t, s, "b", enrolltest.Seats(7)), enrolltest.OpenRun(t, s, "c", nil)}
		const people = 60
		var settlers, acceptors sync.WaitGroup
		done := make(chan struct{})
		for n := range 4 {
			settlers.Go(func() {
				for {
					// The same people in all runs, in another order each time.
					order := append(slices.Clone(runs[n%3:]), runs[:n%3]...)
					_, err := s.Settle(context.Background(), order, enrolltest.SettleLimits(10))
					if err != nil {
						t.Error(err)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		for n, run := range []string{"a", "b", "c"} {
			acceptors.Go(func() {
				for i := range people {
					if _, err := s.Accept(context.Background(), []enroll.Submission{enrolltest.Person(run, (i*7+n*13)%people)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		acceptors.Wait()
		testwait.Until(t, "no line is behind", func() bool { b, err := s.Backlogs(t.Context(), nil, 0); return err == nil && len(b) == 0 })
		close(done)
		settlers.Wait()
		pgtest.RequireSound(t, url)
		for run, want := range map[string]int64{"a": 5, "b": 7, "c": people} {
			got := pgtest.Query[int64](t, url, `
				SELECT max(ticket) FROM requests JOIN runs r ON r.id = run_id WHERE r.slug = $1 AND status = 'confirmed'`, run)[0]
			if got != want {
				t.Errorf("the last confirmed ticket of run %s is %d, want %d", run, got, want)
			}
		}
	})

	t.Run("a settler that is killed inside its transaction leaves nothing behind", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(1))
		accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("a", 2))
		release := pgtest.Hold(t, url, `LOCK TABLE attendances IN EXCLUSIVE MODE`) // it gets as far as the seats
		killed := make(chan error, 1)
		go func() {
			_, err := s.Settle(context.Background(), []enroll.RunID{run}, enrolltest.SettleLimits(10))
			killed <- err
		}()
		pgtest.AwaitLockWaiters(t, url, 1)
		if _, there := settle(t, s, run)[run]; there {
			t.Error("two settle the run at once")
		}
		pgtest.Exec(t, url, `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		if err := <-killed; err == nil {
			t.Error("it was killed and does not know")
		}
		requireOutcomes(t, url, "a", "queued", "queued")
		release()
		testwait.Until(t, "both requests are settled", func() bool { return settle(t, s, run)[run].Last == 2 })
		requireOutcomes(t, url, "a", "confirmed", "full")
		pgtest.RequireSound(t, url)
	})

	t.Run("a settler whose connection dies writes all or nothing", func(t *testing.T) {
		t.Parallel()
		for _, fault := range []pgtest.Fault{pgtest.CutRequest, pgtest.CutReply} {
			url := pgtest.URL(t)
			s := pgtest.Open(t, url)
			run := enrolltest.OpenRun(t, s, "a", enrolltest.Seats(1))
			accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("a", 2))
			proxy := pgtest.NewProxy(t, url)
			weak := pgtest.Open(t, proxy.URL())
			other := enrolltest.OpenRun(t, s, "empty", nil)
			settle(t, weak, other) // the statements are prepared
			proxy.Set(fault)
			if _, err := weak.Settle(t.Context(), []enroll.RunID{run}, enrolltest.SettleLimits(10)); err == nil {
				t.Error("a broken connection went unnoticed")
			}
			testwait.Until(t, "both requests are settled", func() bool { return settle(t, s, run)[run].Last == 2 })
			requireOutcomes(t, url, "a", "confirmed", "full")
			pgtest.RequireSound(t, url)
		}
	})
}

func settle(t testing.TB, s *postgres.Store, runs ...enroll.RunID) map[enroll.RunID]enroll.Progress {
	t.Helper()
	p, err := s.Settle(t.Context(), runs, enrolltest.SettleLimits(1000))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// requireOutcomes compares a line: a status, or the reason where there is one.
func requireOutcomes(t testing.TB, url, run string, want ...string) {
	t.Helper()
	got := pgtest.Query[string](t, url, `
		SELECT coalesce(q.reason, q.status) FROM requests q JOIN runs r ON r.id = q.run_id WHERE r.slug = $1 ORDER BY q.ticket`, run)
	if !slices.Equal(got, want) {
		t.Errorf("run %s: outcomes %v, want %v", run, got, want)
	}
}
