package waitlist_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
	"github.com/lastseat/lastseat/internal/waitlist"
)

func TestMain(m *testing.M) { testwait.Main(m) }

// counted is a ledger that counts how often it was looked into.
type counted struct {
	waitlist.Ledger
	turns atomic.Int64
}

func (c *counted) ListsToEnd(ctx context.Context) ([]string, error) {
	c.turns.Add(1)
	return c.Ledger.ListsToEnd(ctx)
}

// waitInVain creates a run without seats, and lets a person wait for one.
func waitInVain(t *testing.T, s *postgres.Store, slug string) {
	t.Helper()
	now := time.Now()
	id := enrolltest.CreateRun(t, s, enroll.Run{
		Slug: slug, Capacity: enrolltest.Seats(0), WaitlistCapacity: enrolltest.Seats(5), OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
	})
	if _, err := s.Accept(t.Context(), []enroll.Submission{enrolltest.Person(slug, 1)}); err != nil {
		t.Fatal(err)
	}
	settle(t, s, id)
}

func run(t *testing.T, s *postgres.Store, slug string) enroll.RunID {
	t.Helper()
	r, err := s.Run(t.Context(), slug)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

func settle(t *testing.T, s *postgres.Store, run enroll.RunID) {
	t.Helper()
	if _, err := s.Settle(t.Context(), []enroll.RunID{run}, enrolltest.SettleLimits(10)); err != nil {
		t.Fatal(err)
	}
}

// TestAWaitingListEndsAtItsTime: in two processes, and once.
func TestAWaitingListEndsAtItsTime(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	for _, slug := range []string{"now", "later", "at-the-begin", "empty"} {
		waitInVain(t, s, slug)
	}
	if _, err := s.Accept(t.Context(), []enroll.Submission{enroll.NewCancel("empty", 1, false)}); err != nil {
		t.Fatal(err)
	}
	settle(t, s, run(t, s, "empty"))
	now := time.Now()
	pgtest.Exec(t, url, `UPDATE runs SET promote_until = CASE slug WHEN 'now' THEN $1::timestamptz WHEN 'later' THEN $1::timestamptz + interval '1 hour' END WHERE slug IN ('now', 'later')`,
		now.Add(500*time.Millisecond))
	pgtest.Exec(t, url, `UPDATE runs SET promote_until = now() WHERE slug = 'empty'`)
	var mu sync.Mutex
	var notified []enroll.Bundle
	notify := func(b enroll.Bundle) {
		mu.Lock()
		defer mu.Unlock()
		notified = append(notified, b)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	processes := []*counted{{Ledger: s}, {Ledger: s}}
	for _, p := range processes {
		wg.Go(func() {
			if err := waitlist.Run(ctx, p, 20*time.Millisecond, notify, slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
		})
	}
	testwait.Until(t, "a worker is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(notified) > 0
	})
	if time.Since(now) < 500*time.Millisecond {
		t.Error("the list ended before its time")
	}
	for _, p := range processes { // they go on looking, while it is not settled
		enough := p.turns.Load() + 5
		testwait.Until(t, "enough turns have passed", func() bool { return p.turns.Load() >= enough })
	}
	settle(t, s, notified[0].RunID)
	stop()
	wg.Wait()
	if len(notified) != 1 || notified[0].Run != "now" || notified[0].First != 2 || notified[0].Last != 2 {
		t.Errorf("notified of %+v", notified)
	}
	got := pgtest.Query[string](t, url, `SELECT r.slug || ' ' || q.kind || ' ' || q.status || ' ' || r.waitlist_ended FROM requests q JOIN runs r ON r.id = q.run_id WHERE q.kind = 'close_waitlist'`)
	if want := []string{"now close_waitlist done true"}; !slices.Equal(got, want) {
		t.Errorf("the lines have %q, want %q", got, want)
	}
}

func TestItGoesOnWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	proxy := pgtest.NewProxy(t, url)
	waitInVain(t, s, "a")
	pgtest.Exec(t, url, `UPDATE runs SET promote_until = now()`)
	proxy.Set(pgtest.Refuse)
	through := pgtest.Open(t, proxy.URL())
	notified := make(chan enroll.Bundle, 10)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- waitlist.Run(ctx, through, 20*time.Millisecond, func(b enroll.Bundle) { notified <- b }, slog.New(slog.DiscardHandler))
	}()
	proxy.Set(pgtest.None)
	<-notified
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// brittle is a ledger whose first acceptance goes through a proxy that loses it.
type brittle struct {
	waitlist.Ledger
	proxied *postgres.Store
	cut     func()
	lost    error
}

func (b *brittle) Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	if b.lost != nil {
		return b.Ledger.Accept(ctx, submissions)
	}
	if _, err := b.proxied.Accept(ctx, nil); err != nil { // the statements are prepared
		return nil, err
	}
	b.cut()
	results, err := b.proxied.Accept(ctx, submissions)
	b.lost = err
	return results, err
}

// TestTheEndOfAListIsLost, on its way or when it is in the line: it stands there
// once. Who finds it there does not notify, for it cannot tell whether another
// process has: the sweep finds the line.
func TestTheEndOfAListIsLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault         pgtest.Fault
		notifications int
	}{"on its way": {pgtest.CutRequest, 1}, "in the line": {pgtest.CutReply, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			s := pgtest.Open(t, url)
			proxy := pgtest.NewProxy(t, url)
			waitInVain(t, s, "a")
			pgtest.Exec(t, url, `UPDATE runs SET promote_until = now()`)
			fragile := &brittle{Ledger: s, proxied: pgtest.Open(t, proxy.URL()), cut: func() { proxy.Set(test.fault) }}
			turning := &counted{Ledger: fragile}
			notified := 0
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				ended <- waitlist.Run(ctx, turning, 20*time.Millisecond, func(enroll.Bundle) { notified++ }, slog.New(slog.DiscardHandler))
			}()
			testwait.Until(t, "five turns have passed", func() bool { return turning.turns.Load() >= 5 })
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if enroll.CodeOf(fragile.lost) != enroll.OutcomeUnknown {
				t.Errorf("the first time ended with %v", fragile.lost)
			}
			if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests WHERE kind = 'close_waitlist'`)[0]; n != 1 || notified != test.notifications {
				t.Errorf("it is %d times in the line, and %d notifications were sent", n, notified)
			}
		})
	}
}

// TestListsEndBesideOnesThatDoNot: the line of one run is held, another's cannot
// take the request, and those of a hundred more are not settled. All lists are
// overdue for longer than the last one, which ends nevertheless.
func TestListsEndBesideOnesThatDoNot(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	for _, slug := range []string{"held", "broken", "healthy"} {
		waitInVain(t, s, slug)
	}
	pgtest.Exec(t, url, `UPDATE runs SET promote_until = now() - interval '1 hour' WHERE slug <> 'healthy'`)
	pgtest.Exec(t, url, `UPDATE runs SET promote_until = now() WHERE slug = 'healthy'`)
	pgtest.Damage(t, url, `UPDATE lines SET last_ticket = 0 WHERE run_id = $1`, run(t, s, "broken")) // the next ticket is there already
	// A hundred that have the request in their lines, where it stays.
	pgtest.Damage(t, url, `
		WITH stuck AS (
			INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at, capacity, waiting_count)
			SELECT course_id, 'stuck-' || n, time_zone, now() - interval '2 hours', now() - interval '1 hour', opens_at, closes_at, 0, 1
			FROM runs, generate_series(1, 100) n WHERE slug = 'healthy'
			RETURNING id
		), heads AS (
			INSERT INTO lines (run_id, last_ticket) SELECT id, 1 FROM stuck
		)
		INSERT INTO requests (run_id, ticket, id, kind, idempotency_key, accepted_at)
		SELECT id, 1, gen_random_uuid(), 'close_waitlist', $1, now() FROM stuck`, enroll.NewScheduledCloseWaitlist("a").IdempotencyKey)
	release := pgtest.Hold(t, url, `SELECT FROM lines WHERE run_id = $1 FOR UPDATE`, run(t, s, "held"))

	notified := make(chan string, 10)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	ledger := &patient{Ledger: s}
	go func() {
		ended <- waitlist.Run(ctx, ledger, 20*time.Millisecond, func(b enroll.Bundle) { notified <- b.Run }, slog.New(slog.DiscardHandler))
	}()
	if first := <-notified; first != "healthy" {
		t.Errorf("the list of %s ends first", first)
	}
	release()
	if second := <-notified; second != "held" {
		t.Errorf("the list of %s ends second", second)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, run := range ledger.asked {
		if run != "healthy" && run != "held" && run != "broken" {
			t.Errorf("it asks again for the end of %s", run)
		}
	}
}

// patient is a ledger that notes for which runs requests come, each by itself.
type patient struct {
	waitlist.Ledger
	asked []string
}

func (p *patient) Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	for _, sub := range submissions {
		p.asked = append(p.asked, sub.Run)
	}
	return p.Ledger.Accept(ctx, submissions)
}
