package postgres_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestAccept(t *testing.T) {
	t.Parallel()

	t.Run("numbers each run's line without gaps in the order given", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Store(t)
		enrolltest.OpenRun(t, s, "a", nil)
		enrolltest.OpenRun(t, s, "b", nil)
		got := tickets(accept(t, s, enrolltest.Person("a", 1), enrolltest.Person("b", 1), enrolltest.Person("nowhere", 1), enrolltest.Person("a", 2), enrolltest.Person("b", 2), enrolltest.Person("a", 3)))
		if want := []int64{1, 1, 0, 2, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("tickets %v, want %v", got, want)
		}
		if got := tickets(accept(t, s, enrolltest.Person("a", 4))); got[0] != 4 {
			t.Errorf("the next ticket is %d, want 4", got[0])
		}
	})

	t.Run("of an unknown run is NotFound and leaves the others alone", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Store(t)
		enrolltest.OpenRun(t, s, "a", nil)
		results := accept(t, s, enrolltest.Person("nowhere", 1), enrolltest.Person("a", 1))
		if enroll.CodeOf(results[0].Err) != enroll.NotFound || results[1].Err != nil {
			t.Errorf("got %v and %v", results[0].Err, results[1].Err)
		}
	})

	t.Run("judges the window by the database's clock, opens inclusive, closes exclusive", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Store(t)
		now := time.Now()
		enrolltest.CreateRun(t, s, enroll.Run{Slug: "early", OpensAt: now.Add(time.Hour), ClosesAt: now.Add(2 * time.Hour)})
		enrolltest.CreateRun(t, s, enroll.Run{Slug: "late", OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(-time.Hour)})
		results := accept(t, s, enrolltest.Person("early", 1), enrolltest.Person("late", 1))
		for i, want := range []enroll.Code{enroll.RunNotOpen, enroll.RunClosed} {
			if got := enroll.CodeOf(results[i].Err); got != want {
				t.Errorf("code %q, want %q", got, want)
			}
		}
	})

	t.Run("never lets accepted_at run backwards, whatever the clock does", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		enrolltest.OpenRun(t, s, "a", nil)
		ahead := time.Now().Add(10 * time.Minute).Truncate(time.Microsecond)
		pgtest.Exec(t, url, `UPDATE lines SET last_accepted_at = $1`, ahead)
		if at := accept(t, s, enrolltest.Person("a", 1))[0].Receipt.AcceptedAt; !at.Equal(ahead) {
			t.Errorf("accepted at %s, want %s", at, ahead)
		}
		pgtest.Exec(t, url, `UPDATE runs SET closes_at = $1`, ahead)
		if results := accept(t, s, enrolltest.Person("a", 2)); enroll.CodeOf(results[0].Err) != enroll.RunClosed {
			t.Errorf("the window was not judged by the line's clock: %v", results[0].Err)
		}
	})

	t.Run("accepts the same submissions once however often it is tried again", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Store(t)
		enrolltest.OpenRun(t, s, "a", nil)
		all := []enroll.Submission{enrolltest.Person("a", 1), enrolltest.Person("a", 2)}
		first := accept(t, s, all...)
		second := acceptAgain(t, s, append(slices.Clone(all), enrolltest.Person("a", 3))...)
		if got, want := tickets(second), []int64{1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("tickets %v, want %v", got, want)
		}
		if second[0].Receipt.Again || second[0].Receipt.ID != first[0].Receipt.ID {
			t.Errorf("its own id counts as somebody else's: %+v", second[0].Receipt)
		}
	})

	t.Run("finds the request that came with the same key, in that run alone", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		enrolltest.OpenRun(t, s, "a", nil)
		enrolltest.OpenRun(t, s, "b", nil)
		first := accept(t, s, enrolltest.Submission("a", "ada@example.org", "key"))[0].Receipt
		results := accept(t, s, enrolltest.Submission("a", "ada@example.org", "key"), enrolltest.Submission("b", "ada@example.org", "key"))
		if r := results[0].Receipt; !r.Again || r.ID != first.ID || r.Ticket != 1 || !r.AcceptedAt.Equal(first.AcceptedAt) {
			t.Errorf("the same key in the same run got %+v", r)
		}
		if r := results[1].Receipt; r.Again || r.Ticket != 1 {
			t.Errorf("the same key in another run got %+v", r)
		}
		pgtest.Exec(t, url, `UPDATE runs SET closes_at = opens_at + interval '1 second'`)
		if results := accept(t, s, enrolltest.Submission("a", "ada@example.org", "key")); results[0].Receipt.ID != first.ID {
			t.Errorf("after the window the same key got %v", results[0].Err)
		}
	})

	t.Run("keeps lines dense and ordered when many accept at once", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		stores := []*postgres.Store{pgtest.Open(t, url), pgtest.Open(t, url)} // as two API instances
		runs := []string{"a", "b", "c"}
		for _, run := range runs {
			enrolltest.OpenRun(t, stores[0], run, nil)
		}
		const acceptors, rounds, each = 6, 10, 7
		var wg sync.WaitGroup
		for n := range acceptors {
			wg.Go(func() {
				last := make(map[string]int64)
				for round := range rounds {
					var all []enroll.Submission
					for i := range each {
						all = append(all, enrolltest.Person(runs[(n+round+i)%len(runs)], n*10000+round*100+i))
					}
					results, err := stores[n%2].Accept(context.Background(), all)
					if err != nil {
						t.Error(err)
						return
					}
					for _, result := range results {
						// Who was answered before you asked has a smaller ticket.
						if result.Err != nil || result.Receipt.Ticket <= last[result.Receipt.Run] {
							t.Errorf("ticket %d after %d: %v", result.Receipt.Ticket, last[result.Receipt.Run], result.Err)
						}
						last[result.Receipt.Run] = result.Receipt.Ticket
					}
				}
			})
		}
		wg.Wait()
		requireDense(t, url, acceptors*rounds*each)
	})

	t.Run("that cannot be stored accepts nothing of the batch", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		enrolltest.OpenRun(t, s, "a", nil)
		poison := enrolltest.Person("a", 2)
		poison.Name = "N\x00UL" // validation would have refused it
		_, err := s.Accept(t.Context(), []enroll.Submission{enrolltest.Person("a", 1), poison})
		if enroll.CodeOf(err) != enroll.Internal {
			t.Errorf("code %q, want internal: %v", enroll.CodeOf(err), err)
		}
		requireDense(t, url, 0)
	})
}

func TestAcceptOverABrokenConnection(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (string, *pgtest.Proxy, *postgres.Store) {
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		proxy := pgtest.NewProxy(t, url)
		s := pgtest.Open(t, proxy.URL())
		accept(t, s, enrolltest.Person("a", 1)) // the statements are prepared
		return url, proxy, s
	}
	requireUnknown := func(t *testing.T, first error) {
		t.Helper()
		if code := enroll.CodeOf(first); code != enroll.OutcomeUnknown {
			t.Fatalf("the first try ended with code %q, want outcome_unknown: %v", code, first)
		}
	}
	tryAgain := func(t *testing.T, url string, s *postgres.Store, first error, all ...enroll.Submission) {
		t.Helper()
		requireUnknown(t, first)
		if got, want := tickets(acceptAgain(t, s, all...)), []int64{2, 3}; !slices.Equal(got, want) {
			t.Errorf("tickets %v, want %v", got, want)
		}
		requireDense(t, url, 3)
	}

	t.Run("the reply is lost: the second try finds the first", func(t *testing.T) {
		t.Parallel()
		url, proxy, s := setup(t)
		all := []enroll.Submission{enrolltest.Person("a", 2), enrolltest.Person("a", 3)}
		proxy.Set(pgtest.CutReply)
		_, err := s.Accept(t.Context(), all)
		tryAgain(t, url, s, err, all...)
	})

	t.Run("the request is lost: the second try is the first", func(t *testing.T) {
		t.Parallel()
		url, proxy, s := setup(t)
		all := []enroll.Submission{enrolltest.Person("a", 2), enrolltest.Person("a", 3)}
		proxy.Set(pgtest.CutRequest)
		_, err := s.Accept(t.Context(), all)
		tryAgain(t, url, s, err, all...)
	})

	t.Run("the first try comes after the second: it changes nothing", func(t *testing.T) {
		t.Parallel()
		url, _, s := setup(t)
		all := []enroll.Submission{enrolltest.Person("a", 2), enrolltest.Person("a", 3)}
		acceptAgain(t, s, all...)
		if _, err := s.Accept(t.Context(), append([]enroll.Submission{enrolltest.Person("a", 4)}, all...)); enroll.CodeOf(err) != enroll.Unavailable {
			t.Errorf("got code %q, want unavailable: %v", enroll.CodeOf(err), err)
		}
		requireDense(t, url, 3)
	})

	t.Run("the first try still waits for a lock when the second comes", func(t *testing.T) {
		t.Parallel()
		url, proxy, s := setup(t)
		all := []enroll.Submission{enrolltest.Person("a", 2), enrolltest.Person("a", 3)}
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		proxy.Set(pgtest.CutWaiting)
		_, err := s.Accept(t.Context(), all)
		requireUnknown(t, err)
		pgtest.AwaitLockWaiters(t, url, 1)
		other := pgtest.Open(t, url)
		var verdicts []enroll.AcceptResult
		again := make(chan error, 1)
		go func() {
			var err error
			verdicts, err = other.AcceptAgain(t.Context(), all)
			again <- err
		}()
		pgtest.AwaitLockWaiters(t, url, 2) // the second try waits behind the first
		release()
		if err := testwait.Receive(t, "the second try ends", again); err != nil {
			t.Fatal(err)
		}
		if got, want := tickets(verdicts), []int64{2, 3}; !slices.Equal(got, want) {
			t.Errorf("tickets %v, want %v", got, want)
		}
		requireDense(t, url, 3)
	})

	t.Run("nobody is there: nothing was accepted", func(t *testing.T) {
		t.Parallel()
		url, proxy, s := setup(t)
		proxy.Set(pgtest.Refuse)
		testwait.Until(t, "the pool's old connections are used up", func() bool {
			_, err := s.Accept(t.Context(), []enroll.Submission{enrolltest.Person("a", 2)})
			return enroll.CodeOf(err) == enroll.Unavailable // the pool's old connections are used up
		})
		proxy.Set(pgtest.None)
		requireDense(t, url, 1)
	})
}

func TestLinesBehind(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	ids := make(map[string]enroll.RunID)
	for _, run := range []string{"idle", "old", "older", "young", "ahead"} {
		ids[run] = enrolltest.OpenRun(t, s, run, nil)
	}
	accept(t, s, enrolltest.Person("ahead", 1))
	pgtest.Exec(t, url, `UPDATE requests SET accepted_at = accepted_at + interval '1 hour'`)
	accept(t, s, enrolltest.Person("old", 1), enrolltest.Person("older", 1), enrolltest.Person("young", 1))
	pgtest.Exec(t, url, `UPDATE requests SET accepted_at = accepted_at - interval '1 minute' WHERE run_id = $1`, ids["old"])
	pgtest.Exec(t, url, `UPDATE requests SET accepted_at = accepted_at - interval '1 hour' WHERE run_id = $1`, ids["older"])
	for _, test := range []struct {
		name string
		runs []enroll.RunID
		age  time.Duration
		want []string
	}{
		{"among all runs the oldest comes first", nil, 10 * time.Second, []string{"older", "old", "ahead"}},
		{"of no age means all that wait", nil, 0, []string{"older", "old", "young", "ahead"}},
		{"among some runs leaves the others out", []enroll.RunID{ids["idle"], ids["old"]}, 0, []string{"old"}},
		{"among no runs is nothing", []enroll.RunID{}, 0, nil},
		{"that were accepted in the future wait, too: the clock was set back", []enroll.RunID{ids["ahead"]}, time.Minute, []string{"ahead"}},
	} {
		backlogs, err := s.Backlogs(t.Context(), test.runs, test.age)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range backlogs {
			got = append(got, b.Run)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func accept(t testing.TB, s *postgres.Store, submissions ...enroll.Submission) []enroll.AcceptResult {
	t.Helper()
	results, err := s.Accept(t.Context(), submissions)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func acceptAgain(t testing.TB, s *postgres.Store, submissions ...enroll.Submission) []enroll.AcceptResult {
	t.Helper()
	results, err := s.AcceptAgain(t.Context(), submissions)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func tickets(results []enroll.AcceptResult) []int64 {
	var all []int64
	for _, result := range results {
		all = append(all, result.Receipt.Ticket)
	}
	return all
}
