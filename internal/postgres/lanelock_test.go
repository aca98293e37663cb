package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

func connectLocks(t testing.TB, url string, idle time.Duration) *postgres.LaneLocks {
	t.Helper()
	l, err := postgres.ConnectLaneLocks(t.Context(), url, pgtest.Options, idle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func try(t testing.TB, l *postgres.LaneLocks, run enroll.RunID) bool {
	t.Helper()
	got, err := l.TryLock(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(got, run)
}

func TestLaneLocks(t *testing.T) {
	t.Parallel()

	t.Run("one worker owns a run, another one owns another", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		first, second := connectLocks(t, url, time.Minute), connectLocks(t, url, time.Minute)
		if !try(t, first, 1) || try(t, second, 1) || !try(t, second, 2) {
			t.Error("the locks are not exclusive per run")
		}
		if err := first.Unlock(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if !try(t, second, 1) {
			t.Error("a lock that was given back is not free")
		}
		if err := first.Unlock(t.Context(), 1); enroll.CodeOf(err) != enroll.Internal {
			t.Errorf("giving back what is not held: %v", err)
		}
	})

	t.Run("are taken and given back together, those that are free", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		first, second := connectLocks(t, url, time.Minute), connectLocks(t, url, time.Minute)
		try(t, first, 2)
		got, err := second.TryLock(t.Context(), 1, 2, 3)
		if slices.Sort(got); err != nil || !slices.Equal(got, []enroll.RunID{1, 3}) {
			t.Fatalf("got %v, %v", got, err)
		}
		if err := second.Unlock(t.Context(), 1, 3); err != nil || !try(t, first, 1) || !try(t, first, 3) {
			t.Errorf("they were not given back: %v", err)
		}
		if err := second.Unlock(t.Context(), 1); enroll.CodeOf(err) != enroll.Internal {
			t.Errorf("giving back what is not held: %v", err)
		}
	})

	t.Run("are free as soon as the session ends", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		first, second := connectLocks(t, url, time.Minute), connectLocks(t, url, time.Minute)
		try(t, first, 1)
		first.Close()
		testwait.Until(t, "the second client gets the lock", func() bool { return try(t, second, 1) })
	})

	t.Run("are free when a client says nothing for a while, and it finds out", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		frozen, second := connectLocks(t, url, 2*time.Second), connectLocks(t, url, time.Minute)
		try(t, frozen, 1)
		testwait.Until(t, "the second client gets the lock", func() bool { return try(t, second, 1) })
		if err := frozen.Ping(t.Context()); enroll.CodeOf(err) != enroll.Unavailable {
			t.Errorf("the ping of a session that ended: %v", err)
		}
	})

	t.Run("stay while the client pings", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		const idle = 5 * time.Second // so long that a busy machine pings in time
		alive, second := connectLocks(t, url, idle), connectLocks(t, url, time.Minute)
		try(t, alive, 1)
		began := time.Now()
		testwait.Until(t, "twice the time has passed that an idle session lives", func() bool {
			if err := alive.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began) > 2*idle
		})
		if try(t, second, 1) {
			t.Error("the lock was lost in spite of the pings")
		}
	})
}
