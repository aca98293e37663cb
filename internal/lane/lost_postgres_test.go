package lane_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
)

// slack is what a busy machine may add to the times that are documented.
const slack = 3 * time.Second

// attentive has a worker look at all runs often.
func attentive(o *lane.Options) {
	o.SweepInterval, o.SweepAllInterval, o.LaneIdle = 200*time.Millisecond, 500*time.Millisecond, 100*time.Millisecond
}

// brittleLocks are lane locks whose connection breaks at the first word of a kind.
type brittleLocks struct {
	lane.Locks
	at  string
	cut func() // once
}

func (b *brittleLocks) passing(word string) {
	if word == b.at {
		b.cut()
	}
}

func (b *brittleLocks) TryLock(ctx context.Context, runs ...enroll.RunID) ([]enroll.RunID, error) {
	b.passing("TryLock")
	return b.Locks.TryLock(ctx, runs...)
}

func (b *brittleLocks) Unlock(ctx context.Context, runs ...enroll.RunID) error {
	b.passing("Unlock")
	return b.Locks.Unlock(ctx, runs...)
}

func (b *brittleLocks) Ping(ctx context.Context) error {
	b.passing("Ping")
	return b.Locks.Ping(ctx)
}

// TestTimingAWordOnTheLockConnectionIsLost, said or answered, or lost without notice so
// that the server goes on holding the locks for somebody who is gone: the worker
// gets another connection, and the line moves as soon as the old session is over,
// after three seconds at the latest.
func TestTimingAWordOnTheLockConnectionIsLost(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"TryLock", "Unlock", "Ping"} {
		for name, fault := range map[string]pgtest.Fault{
			"is not said": pgtest.CutRequest, "is not answered": pgtest.CutReply,
			"is said into nothing": pgtest.Deafen, "is answered into nothing": pgtest.LoseReply,
		} {
			t.Run(word+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(2))
				proxy := pgtest.NewProxy(t, p.url)
				broken := make(chan struct{})
				cut := sync.OnceFunc(func() { proxy.Set(fault); close(broken) })
				p.locks = func(ctx context.Context) (lane.Locks, error) {
					locks, err := postgres.ConnectLaneLocks(ctx, proxy.URL(), pgtest.Options, lane.IdleLocks)
					if err != nil {
						return nil, err
					}
					// So that the statements are prepared, and the fault hits their execution.
					if _, err := locks.TryLock(ctx, 0); err != nil {
						return nil, err
					}
					return &brittleLocks{Locks: locks, at: word, cut: cut}, locks.Unlock(ctx, 0)
				}
				w := p.worker(p.store, attentive)
				p.ask("a", 1)
				<-broken
				began := time.Now()
				p.ask("a", 2, 3)
				p.waitUntilDrained()
				testwait.Promised(t, "from the fault until the line moved again", time.Since(began), lane.IdleLocks+2*time.Second+slack)
				testwait.Until(t, "the loss is counted and the worker is ready again", func() bool { return w.metric("lastseat_lane_locks_lost_total", "") > 0 && w.Ready(t.Context()) == nil })
				pgtest.RequireSound(t, p.url)
			})
		}
	}
}

// brittleLedger is a ledger of which one conversation, the first of its kind, goes
// through a proxy.
type brittleLedger struct {
	lane.Ledger
	proxied lane.Ledger
	cut     func() // before the proxied one, unless it is nil
	look    atomic.Bool
	settle  atomic.Bool

	mu      sync.Mutex
	ended   bool              // the proxied conversation, …
	lost    error             // … and how
	settled []enroll.Progress // of the first run of each settlement that succeeded
}

func (b *brittleLedger) Backlogs(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Backlog, error) {
	if !b.look.CompareAndSwap(true, false) {
		return b.Ledger.Backlogs(ctx, runs, age)
	}
	if _, err := b.proxied.Backlogs(ctx, runs, age); err != nil { // the statement is prepared
		return nil, err
	}
	b.cut()
	behind, err := b.proxied.Backlogs(ctx, runs, age)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = err
	return behind, err
}

func (b *brittleLedger) Settle(ctx context.Context, runs []enroll.RunID, terms enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error) {
	ledger, proxied := b.Ledger, b.settle.CompareAndSwap(true, false)
	if proxied {
		ledger = b.proxied
	}
	if proxied && b.cut != nil {
		if _, err := ledger.Settle(ctx, []enroll.RunID{0}, terms); err != nil { // the statements are prepared
			return nil, err
		}
		b.cut()
	}
	progress, err := ledger.Settle(ctx, runs, terms)
	b.mu.Lock()
	defer b.mu.Unlock()
	if proxied {
		b.ended, b.lost = true, err
	}
	if p, locked := progress[runs[0]]; locked {
		b.settled = append(b.settled, p)
	}
	return progress, err
}

// first returns the first settlement that succeeded, and how the proxied
// conversation ended. They are noted after the commit that others see.
func (b *brittleLedger) first(t *testing.T) (settled enroll.Progress, lost error) {
	t.Helper()
	testwait.Until(t, "the settlement has ended", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.settled) == 0 || !b.ended {
			return false
		}
		lost, settled = b.lost, b.settled[0]
		return true
	})
	return settled, lost
}

func (p *place) brittle() (*brittleLedger, *pgtest.Proxy) {
	p.t.Helper()
	proxy := pgtest.NewProxy(p.t, p.url)
	return &brittleLedger{Ledger: p.store, proxied: pgtest.Open(p.t, proxy.URL())}, proxy
}

func TestTimingALookAtTheLinesIsLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pgtest.Fault{"asked": pgtest.CutRequest, "answered": pgtest.CutReply} {
		t.Run("when it is "+name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(1))
			ledger, proxy := p.brittle()
			ledger.cut = func() { proxy.Set(fault) }
			p.accept("a", 1, 2) // and nobody rings
			ledger.look.Store(true)
			p.worker(ledger, attentive)
			began := time.Now()
			p.waitUntilDrained()
			testwait.Promised(t, "from the fault until the next look", time.Since(began), time.Second+500*time.Millisecond+slack)
			ledger.mu.Lock()
			defer ledger.mu.Unlock()
			if ledger.lost == nil {
				t.Error("nothing was lost")
			}
			pgtest.RequireSound(t, p.url)
		})
	}
}

// TestTimingTheReplyToASettlementIsLost after it was committed. Postgres waits for
// somebody who creates the same user meanwhile, so that the connection can break
// when everything has been sent and nothing is answered.
func TestTimingTheReplyToASettlementIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		lose   func(*pgtest.Proxy)
		within time.Duration
	}{
		{"with its connection", func(proxy *pgtest.Proxy) { proxy.Set(pgtest.Refuse) }, time.Second}, // nor must a request to cancel get through
		{"without notice", func(proxy *pgtest.Proxy) { proxy.Set(pgtest.Deafen) }, 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(2))
			ledger, proxy := p.brittle()
			p.worker(ledger, attentive)
			release := pgtest.Hold(t, p.url, `INSERT INTO users (email_key, email, name) VALUES ('p1@example.org', 'p1@example.org', 'A Person')`)
			ledger.settle.Store(true)
			p.ask("a", 1)
			pgtest.AwaitLockWaiters(t, p.url, 1)
			test.lose(proxy)
			release()
			began := time.Now()
			p.ask("a", 2, 3)
			p.waitUntilDrained()
			testwait.Promised(t, "from the fault until the line moved again", time.Since(began), test.within+slack)
			if got := pgtest.Query[string](t, p.url, `SELECT status FROM requests ORDER BY ticket`); !slices.Equal(got, []string{"confirmed", "confirmed", "rejected"}) {
				t.Errorf("the outcomes are %q", got)
			}
			if got := pgtest.Query[string](t, p.url, `SELECT ticket || ' ' || kind FROM mails ORDER BY ticket`); !slices.Equal(got, []string{"1 confirmed", "2 confirmed"}) {
				t.Errorf("the outbox has %q", got)
			}
			// The first that succeeded found it done.
			if settled, lost := ledger.first(t); lost == nil || settled.First != 2 {
				t.Errorf("it was not lost after the commit: %v, then %+v", lost, settled)
			}
			proxy.Set(pgtest.Refuse) // or what is deaf would take long to close
			pgtest.RequireSound(t, p.url)
		})
	}
}

// TestTimingWhatASettlementReadsIsLostWithoutNotice: Postgres waits with the run locked
// for what comes next, and gives it up, long before the worker does.
func TestTimingWhatASettlementReadsIsLostWithoutNotice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	enrolltest.OpenRun(t, p.store, "a", enrolltest.Seats(2))
	ledger, proxy := p.brittle()
	ledger.cut = func() { proxy.Set(pgtest.LoseReply) }
	ledger.settle.Store(true)
	p.worker(ledger, attentive)
	began := time.Now()
	p.ask("a", 1, 2, 3)
	p.waitUntilDrained()
	testwait.Promised(t, "from the fault until the line moved again", time.Since(began), 10*time.Second+slack)
	if settled, lost := ledger.first(t); lost == nil || settled.First != 1 {
		t.Errorf("it was not lost: %v, then %+v", lost, settled)
	}
	proxy.Set(pgtest.Refuse) // or what is deaf would take long to close
	pgtest.RequireSound(t, p.url)
}
