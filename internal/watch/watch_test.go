package watch_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/testwait"
	"github.com/lastseat/lastseat/internal/watch"
)

func TestMain(m *testing.M) { testwait.Main(m) }

// reader counts the reads of a store and lets a test step in.
type reader struct {
	*postgres.Store
	reads atomic.Int64
	after func() // called once, after the first read and before its answer
	once  sync.Once
}

func (r *reader) Registrations(ctx context.Context, ids []uuid.UUID) ([]enroll.Registration, error) {
	r.reads.Add(1)
	found, err := r.Store.Registrations(ctx, ids)
	if r.after != nil {
		r.once.Do(r.after)
	}
	return found, err
}

// line is a run with people in its line, and a watch over them.
type line struct {
	t      *testing.T
	run    enroll.RunID
	people []enroll.Receipt
	reader *reader
	*watch.Watch
}

func newLine(t *testing.T, people int) *line {
	t.Helper()
	s := pgtest.Store(t)
	l := &line{t: t, run: enrolltest.OpenRun(t, s, "a", nil), reader: &reader{Store: s}}
	var all []enroll.Submission
	for n := range people {
		all = append(all, enrolltest.Person("a", n))
	}
	results, err := s.Accept(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		l.people = append(l.people, result.Receipt)
	}
	l.Watch = watch.New(l.reader, watch.Limits{Total: 1000, PerRegistration: 3}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *line) settle() enroll.Progress {
	p, err := l.reader.Settle(context.Background(), []enroll.RunID{l.run}, enrolltest.SettleLimits(10_000))
	if err != nil {
		l.t.Error(err)
	}
	return p[l.run]
}

func decided(r enroll.Registration) bool { return r.Status != enroll.Queued }

func TestWait(t *testing.T) {
	t.Parallel()

	t.Run("returns at once when there is nothing to wait for", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 1)
		l.settle()
		r, err := l.Wait(t.Context(), l.people[0].ID, time.Minute, decided)
		if err != nil || r.Status != enroll.Confirmed {
			t.Errorf("got %+v, %v", r, err)
		}
	})

	t.Run("finds out by itself when a message is lost", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 1)
		l.reader.after = func() { l.settle() }
		r, err := l.Wait(t.Context(), l.people[0].ID, time.Minute, decided)
		if err != nil || !decided(r) {
			t.Errorf("got %+v, %v", r, err)
		}
	})

	t.Run("ends with the newest state when the time is up", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 2)
		l.reader.after = func() {
			if _, err := l.reader.Settle(context.Background(), []enroll.RunID{l.run}, enrolltest.SettleLimits(1)); err != nil {
				t.Error(err)
			}
		}
		r, err := l.Wait(t.Context(), l.people[1].ID, 50*time.Millisecond, decided)
		if err != nil || r.Status != enroll.Queued || r.Position() != 1 {
			t.Errorf("got %+v, %v", r, err)
		}
	})

	t.Run("ends without another read once it is decided", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 1)
		l.settle()
		never := func(enroll.Registration) bool { return false }
		r, err := l.Wait(t.Context(), l.people[0].ID, 50*time.Millisecond, never)
		if err != nil || r.Status != enroll.Confirmed {
			t.Errorf("got %+v, %v", r, err)
		}
		if n := l.reader.reads.Load(); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})

	t.Run("ends for all polls, later ones included, when the watch ends", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 1)
		l.reader.after = l.End
		for range 2 {
			r, err := l.Wait(t.Context(), l.people[0].ID, time.Minute, decided)
			if err != nil || r.Status != enroll.Queued {
				t.Errorf("got %+v, %v", r, err)
			}
		}
	})

	t.Run("refuses the polls beyond the limit, and no others", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		hold := func(n int) {
			waiting.Go(func() {
				if _, err := l.Wait(ctx, l.people[n].ID, time.Minute, decided); ctx.Err() == nil {
					t.Errorf("person %d: %v", n, err)
				}
			})
		}
		for range 3 {
			hold(0)
		}
		testwait.Until(t, "three wait", func() bool { return l.Waiting() == 3 })
		if _, err := l.Wait(t.Context(), l.people[0].ID, time.Minute, decided); enroll.CodeOf(err) != enroll.Busy {
			t.Errorf("a fourth for one registration: %v", err)
		}
		if r, err := l.Wait(t.Context(), l.people[0].ID, time.Minute, func(enroll.Registration) bool { return true }); err != nil || r.ID != l.people[0].ID {
			t.Errorf("one that need not wait: %+v, %v", r, err)
		}
		hold(1) // for another one there is room
		testwait.Until(t, "four wait", func() bool { return l.Waiting() == 4 })
		cancel()
		waiting.Wait()
		if _, err := l.Wait(t.Context(), l.people[0].ID, time.Millisecond, decided); err != nil {
			t.Errorf("after they have left: %v", err)
		}
	})

	t.Run("refuses more than may wait in all", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 1001)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for _, p := range l.people[:1000] {
			waiting.Go(func() { _, _ = l.Wait(ctx, p.ID, time.Minute, decided) })
		}
		testwait.Until(t, "1000 wait", func() bool { return l.Waiting() == 1000 })
		if _, err := l.Wait(t.Context(), l.people[1000].ID, time.Minute, decided); enroll.CodeOf(err) != enroll.Busy {
			t.Errorf("got %v", err)
		}
		cancel()
		waiting.Wait()
	})

	t.Run("knows nobody by an unknown id", func(t *testing.T) {
		t.Parallel()
		l := newLine(t, 1)
		if _, err := l.Wait(t.Context(), uuid.New(), time.Minute, decided); enroll.CodeOf(err) != enroll.NotFound {
			t.Errorf("got %v", err)
		}
	})

	t.Run("costs a few reads for many people, and wakes only those it is about", func(t *testing.T) {
		t.Parallel()
		const people, early = 1000, 400
		l := newLine(t, people)
		var woken atomic.Int64
		var waiting sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for _, p := range l.people {
			waiting.Go(func() {
				r, err := l.Wait(ctx, p.ID, time.Minute, decided)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				if decided(r) {
					woken.Add(1)
				}
			})
		}
		testwait.Until(t, "all people wait", func() bool { return l.Waiting() == people })
		before := l.reader.reads.Load()
		if _, err := l.reader.Settle(t.Context(), []enroll.RunID{l.run}, enrolltest.SettleLimits(early)); err != nil {
			t.Fatal(err)
		}
		l.Settled(l.run, 1, early)
		testwait.Until(t, "the early ones are woken", func() bool { return woken.Load() == early })
		if n := l.reader.reads.Load() - before; n > 10 { // one or two, and what the safety look adds on a slow machine
			t.Errorf("%d reads for one message", n)
		}
		cancel()
		waiting.Wait()
		if n := woken.Load(); n != early {
			t.Errorf("%d were woken, want %d", n, early)
		}
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d are still waited for", n)
		}
	})
}
