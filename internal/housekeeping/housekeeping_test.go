package housekeeping_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/housekeeping"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is a ledger that counts how often it was looked into.
type counted struct {
	housekeeping.Ledger
	turns atomic.Int64
}

func (c *counted) ListsToEnd(ctx context.Context) ([]string, error) {
	c.turns.Add(1)
	return c.Ledger.ListsToEnd(ctx)
}

// TestAWaitingListEndsAtItsTime: in two processes, and once.
func TestAWaitingListEndsAtItsTime(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	now := time.Now()
	for slug, until := range map[string]time.Time{"now": now.Add(500 * time.Millisecond), "later": now.Add(time.Hour), "never": {}} {
		enrolltest.CreateRun(t, s, enroll.Run{
			Slug: slug, Capacity: enrolltest.Seats(0), WaitlistCapacity: enrolltest.Seats(5), PromoteUntil: until,
			OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		})
	}
	var mu sync.Mutex
	var rung []enroll.Bundle
	ring := func(b enroll.Bundle) {
		mu.Lock()
		defer mu.Unlock()
		rung = append(rung, b)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	processes := []*counted{{Ledger: s}, {Ledger: s}}
	for _, p := range processes {
		wg.Go(func() {
			if err := housekeeping.Run(ctx, p, 20*time.Millisecond, ring, slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
		})
	}
	enrolltest.WaitUntil(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(rung) > 0
	})
	if time.Since(now) < 500*time.Millisecond {
		t.Error("the list ended before its time")
	}
	for _, p := range processes { // they go on looking, while it is not settled
		enough := p.turns.Load() + 5
		enrolltest.WaitUntil(t, func() bool { return p.turns.Load() >= enough })
	}
	if _, err := s.Settle(t.Context(), []enroll.RunID{rung[0].RunID}, enrolltest.Terms(10)); err != nil {
		t.Fatal(err)
	}
	stop()
	wg.Wait()
	if len(rung) != 1 || rung[0].Run != "now" || rung[0].First != 1 || rung[0].Last != 1 {
		t.Errorf("rung for %+v", rung)
	}
	got := pgtest.Query[string](t, url, `SELECT r.slug || ' ' || q.kind || ' ' || q.status || ' ' || r.waitlist_ended FROM requests q JOIN runs r ON r.id = q.run_id`)
	if want := []string{"now close_waitlist done true"}; !slices.Equal(got, want) {
		t.Errorf("the lines have %q, want %q", got, want)
	}
}

func TestItGoesOnWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	proxy := pgtest.NewProxy(t, url)
	now := time.Now()
	enrolltest.CreateRun(t, s, enroll.Run{
		Slug: "a", WaitlistCapacity: enrolltest.Seats(5), PromoteUntil: now, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
	})
	proxy.Set(pgtest.Refuse)
	through := pgtest.Open(t, proxy.URL())
	rung := make(chan enroll.Bundle, 10)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- housekeeping.Run(ctx, through, 20*time.Millisecond, func(b enroll.Bundle) { rung <- b }, slog.New(slog.DiscardHandler))
	}()
	proxy.Set(pgtest.None)
	<-rung
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// brittle is a ledger whose first acceptance goes through a proxy that loses it.
type brittle struct {
	housekeeping.Ledger
	proxied *postgres.Store
	cut     func()
	lost    error
}

func (b *brittle) Accept(ctx context.Context, applications []enroll.Application) ([]enroll.Verdict, error) {
	if b.lost != nil {
		return b.Ledger.Accept(ctx, applications)
	}
	if _, err := b.proxied.Accept(ctx, nil); err != nil { // the statements are prepared
		return nil, err
	}
	b.cut()
	verdicts, err := b.proxied.Accept(ctx, applications)
	b.lost = err
	return verdicts, err
}

// TestTheEndOfAListIsLost, on its way or when it is in the line: it stands there
// once. Who finds it there does not ring, for it cannot tell whether somebody
// has: the sweep finds the line.
func TestTheEndOfAListIsLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault pgtest.Fault
		rings int
	}{"on its way": {pgtest.CutRequest, 1}, "in the line": {pgtest.CutReply, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			s := pgtest.Open(t, url)
			proxy := pgtest.NewProxy(t, url)
			now := time.Now()
			enrolltest.CreateRun(t, s, enroll.Run{
				Slug: "a", WaitlistCapacity: enrolltest.Seats(5), PromoteUntil: now, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
			})
			fragile := &brittle{Ledger: s, proxied: pgtest.Open(t, proxy.URL()), cut: func() { proxy.Set(test.fault) }}
			turning := &counted{Ledger: fragile}
			rung := 0
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				ended <- housekeeping.Run(ctx, turning, 20*time.Millisecond, func(enroll.Bundle) { rung++ }, slog.New(slog.DiscardHandler))
			}()
			enrolltest.WaitUntil(t, func() bool { return turning.turns.Load() >= 5 })
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if enroll.CodeOf(fragile.lost) != enroll.OutcomeUnknown {
				t.Errorf("the first time ended with %v", fragile.lost)
			}
			if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0]; n != 1 || rung != test.rings {
				t.Errorf("it is %d times in the line, and was rung for %d times", n, rung)
			}
		})
	}
}
