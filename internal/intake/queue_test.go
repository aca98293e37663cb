package intake_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/intake"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// slowLedger takes its time for every commit, whatever it is given.
type slowLedger struct {
	intake.Ledger
	takes   atomic.Int64 // nanoseconds
	commits atomic.Int64
}

func (s *slowLedger) Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	s.commits.Add(1)
	time.Sleep(time.Duration(s.takes.Load()))
	return s.Ledger.Accept(context.WithoutCancel(ctx), submissions)
}

func (s *slowLedger) AcceptAgain(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	s.commits.Add(1)
	time.Sleep(time.Duration(s.takes.Load()))
	return s.Ledger.AcceptAgain(context.WithoutCancel(ctx), submissions)
}

// crowd asks with n people at once and returns how long each waited, those who
// were accepted and those who were told Busy.
func crowd(t *testing.T, in *intake.Intake, from, n int) (accepted, busy []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			began := time.Now()
			_, err := in.Accept(context.Background(), enrolltest.Person("a", from+i))
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			switch enroll.CodeOf(err) {
			case "":
				accepted = append(accepted, took)
			case enroll.Busy:
				busy = append(busy, took)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return accepted, busy
}

func TestAcceptWhenCommitsAreSlow(t *testing.T) {
	t.Parallel()
	const (
		// Long enough for the pace to be that of the commits and not of a busy machine.
		takes         = 400 * time.Millisecond
		commitTimeout = 4 * time.Second // so that the door aims at two seconds: five commits
	)
	begin := func(t *testing.T, batch int) (*intake.Intake, *slowLedger, string) {
		url := pgtest.URL(t)
		store := pgtest.Open(t, url)
		enrolltest.OpenRun(t, store, "a", nil)
		slow := &slowLedger{Ledger: store}
		in, _, _ := startOn(t, slow, func(o *intake.Options) {
			o.Committers, o.Batch, o.CommitTimeout = 1, batch, commitTimeout
		})
		return in, slow, url
	}

	t.Run("takes as many as it can commit in good time, and says Busy to the others at once", func(t *testing.T) {
		t.Parallel()
		const batch = 10
		in, slow, url := begin(t, batch)
		slow.takes.Store(int64(takes))
		for i := range 2 { // it learns the pace
			crowd(t, in, i, 1)
		}
		accepted, busy := crowd(t, in, 100, 500)
		// Five batches and the one under way, fewer if the machine is busy. By
		// length alone all 500 would be, the last of them after twenty seconds.
		if n := len(accepted); n < 2*batch || n > 12*batch {
			t.Fatalf("%d were accepted", n)
		}
		if longest := slices.Max(accepted); longest > commitTimeout+takes+time.Second {
			t.Errorf("somebody who was accepted waited %s", longest)
		}
		if longest := slices.Max(busy); longest >= commitTimeout {
			t.Errorf("somebody was told Busy at their turn, after %s", longest)
		}
		pgtest.RequireSound(t, url)
	})

	t.Run("sends away whose turn comes too late, without a commit", func(t *testing.T) {
		t.Parallel()
		const batch = 10
		in, slow, url := begin(t, batch)
		crowd(t, in, 0, 1)
		crowd(t, in, 1, 1) // it has learned that commits are fast
		before := slow.commits.Load()
		slow.takes.Store(int64(4 * takes)) // the fourth would begin too late
		accepted, busy := crowd(t, in, 100, 500)
		if len(accepted) < batch || len(accepted)+len(busy) != 500 {
			t.Fatalf("%d were accepted and %d told Busy", len(accepted), len(busy))
		}
		for _, longest := range []time.Duration{slices.Max(accepted), slices.Max(busy)} {
			if longest > commitTimeout+4*takes+time.Second {
				t.Errorf("somebody waited %s", longest)
			}
		}
		if n := slow.commits.Load() - before; n > 4 {
			t.Errorf("there were %d commits", n)
		}
		if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0]; n != int64(2+len(accepted)) {
			t.Errorf("%d are in the line, and %d were told so", n, 2+len(accepted))
		}
	})

	t.Run("takes who fits into the next commit, however slow, and all when commits are fast again", func(t *testing.T) {
		t.Parallel()
		const batch = 100 // so that few commits do, and a busy machine is not too slow for them
		in, slow, _ := begin(t, batch)
		slow.takes.Store(int64(4 * takes))
		for i := range 2 {
			crowd(t, in, i, 1)
		}
		slow.takes.Store(0)
		if _, busy := crowd(t, in, 100, batch); len(busy) > 0 {
			t.Errorf("%d of a batch were told Busy", len(busy))
		}
		crowd(t, in, 200, 1)
		if _, busy := crowd(t, in, 300, 500); len(busy) > 0 {
			t.Errorf("%d were told Busy although commits are fast again", len(busy))
		}
	})

	t.Run("lets one slow commit among fast ones send nobody away", func(t *testing.T) {
		t.Parallel()
		in, slow, _ := begin(t, 100)
		crowd(t, in, 0, 1)
		slow.takes.Store(int64(4 * takes)) // by this pace nobody could wait but for the next commit
		crowd(t, in, 1, 1)
		slow.takes.Store(0)
		if _, busy := crowd(t, in, 100, 300); len(busy) > 0 {
			t.Errorf("%d were told Busy", len(busy))
		}
	})
}
