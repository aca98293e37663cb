package intake_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/intake"
)

// clockLedger accepts everything, and takes its time for every commit by the
// clock of the test's bubble.
type clockLedger struct {
	takes             time.Duration
	commits, accepted int
}

func (c *clockLedger) Accept(_ context.Context, applications []enroll.Submission) ([]enroll.AcceptResult, error) {
	c.commits++
	time.Sleep(c.takes) //nolint:forbidigo // of the bubble: it passes at once
	verdicts := make([]enroll.AcceptResult, len(applications))
	for i, a := range applications {
		c.accepted++
		verdicts[i].Receipt = enroll.Receipt{Registration: enroll.Registration{ID: a.ID, RunID: 1, Ticket: int64(c.accepted)}}
	}
	return verdicts, nil
}

func (c *clockLedger) AcceptAgain(ctx context.Context, applications []enroll.Submission) ([]enroll.AcceptResult, error) {
	return c.Accept(ctx, applications)
}

func (c *clockLedger) DigestKey(context.Context) (enroll.DigestKey, error) { return nil, nil }

// crowd asks with n people at once and returns how long each waited, those who
// were accepted and those who were told Busy.
func crowd(t *testing.T, in *intake.Intake, n int) (accepted, busy []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			began := time.Now()
			_, err := in.Accept(context.Background(), enrolltest.Person("a", i))
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

// TestAcceptWhenCommitsAreSlow goes by the clock of a bubble: nothing takes time
// but the commits.
func TestAcceptWhenCommitsAreSlow(t *testing.T) {
	t.Parallel()
	const (
		takes         = 400 * time.Millisecond
		fast          = time.Millisecond
		commitTimeout = 4 * time.Second // so that two seconds are aimed at: five commits
	)
	run := func(name string, gathering int, f func(t *testing.T, in *intake.Intake, ledger *clockLedger)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ledger := new(clockLedger)
				in, _, _ := startOn(t, ledger, func(o *intake.Options) {
					o.Committers, o.Batch, o.CommitTimeout = 1, gathering, commitTimeout
				})
				f(t, in, ledger)
			})
		})
	}

	run("takes as many as it can commit in good time, and says Busy to the others at once", 10, func(t *testing.T, in *intake.Intake, ledger *clockLedger) {
		ledger.takes = takes
		for range 2 { // it learns the pace
			crowd(t, in, 1)
		}
		accepted, busy := crowd(t, in, 500)
		// Five gatherings and the one under way. By length alone all 500 would be,
		// the last of them after twenty seconds.
		if n := len(accepted); n < 50 || n > 60 {
			t.Fatalf("%d were accepted", n)
		}
		if longest := slices.Max(accepted); longest > commitTimeout/2+takes {
			t.Errorf("somebody who was accepted waited %s", longest)
		}
		if longest := slices.Max(busy); longest > 0 {
			t.Errorf("somebody was told Busy after %s", longest)
		}
	})

	run("sends away whose turn comes too late, without a commit", 10, func(t *testing.T, in *intake.Intake, ledger *clockLedger) {
		ledger.takes = fast
		for range 2 { // it learns that
			crowd(t, in, 1)
		}
		before := ledger.commits
		ledger.takes = 4 * takes // the fourth would begin too late
		accepted, busy := crowd(t, in, 500)
		if len(accepted) <= 20 || len(accepted) > 30 || len(accepted)+len(busy) != 500 {
			t.Fatalf("%d were accepted and %d told Busy", len(accepted), len(busy))
		}
		for _, longest := range []time.Duration{slices.Max(accepted), slices.Max(busy)} {
			if longest > commitTimeout+4*takes {
				t.Errorf("somebody waited %s", longest)
			}
		}
		if n := ledger.commits - before; n != 3 {
			t.Errorf("there were %d commits, want 3", n)
		}
		if ledger.accepted != 2+len(accepted) {
			t.Errorf("%d were committed, and %d were told so", ledger.accepted, 2+len(accepted))
		}
	})

	run("takes who fits into the next commit, however slow, and all when commits are fast again", 100, func(t *testing.T, in *intake.Intake, ledger *clockLedger) {
		ledger.takes = 4 * takes
		for range 2 {
			crowd(t, in, 1)
		}
		ledger.takes = fast
		if _, busy := crowd(t, in, 100); len(busy) > 0 {
			t.Errorf("%d of a gathering were told Busy", len(busy))
		}
		crowd(t, in, 1)
		if _, busy := crowd(t, in, 500); len(busy) > 0 {
			t.Errorf("%d were told Busy although commits are fast again", len(busy))
		}
	})

	run("lets one slow commit among fast ones send nobody away", 100, func(t *testing.T, in *intake.Intake, ledger *clockLedger) {
		ledger.takes = fast
		crowd(t, in, 1)
		ledger.takes = 4 * takes // by this pace nobody could wait but for the next commit
		crowd(t, in, 1)
		ledger.takes = fast
		if _, busy := crowd(t, in, 300); len(busy) > 0 {
			t.Errorf("%d were told Busy", len(busy))
		}
	})
}

// hangingLedger answers nothing, and gives up when its context ends.
type hangingLedger struct{ intake.Ledger }

func (hangingLedger) Accept(ctx context.Context, _ []enroll.Submission) ([]enroll.AcceptResult, error) {
	<-ctx.Done()
	return nil, &enroll.Error{Code: enroll.OutcomeUnknown, Err: ctx.Err()}
}

func (l hangingLedger) AcceptAgain(ctx context.Context, applications []enroll.Submission) ([]enroll.AcceptResult, error) {
	return l.Accept(ctx, applications)
}

// TestALedgerThatHangs leaves the outcome unknown after the commit timeout, of
// which each of two tries has half.
func TestALedgerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const commitTimeout = 2 * time.Second
		in, _, _ := startOn(t, hangingLedger{}, func(o *intake.Options) { o.CommitTimeout = commitTimeout })
		began := time.Now()
		_, err := in.Accept(context.Background(), enrolltest.Person("a", 1))
		if took := time.Since(began); enroll.CodeOf(err) != enroll.OutcomeUnknown || took != commitTimeout {
			t.Errorf("after %s the answer is %v", took, err)
		}
	})
}
