// Package watch lets many people wait for their registrations at the cost of a
// few reads.
//
// It owns who waits for what in one API process. It reads batches of
// registrations, never one per person, and never keeps a connection for a
// person. It must not know HTTP or SQL, nor where messages come from.
package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	readersAtOnce = 2
	readAtOnce    = 500
	readTimeout   = 5 * time.Second

	// lookEvery is how often everybody who waits is looked after, in case a
	// message was lost.
	lookEvery = 3 * time.Second
)

// Reader reads registrations by id and leaves out unknown ones. Those whose id was
// retired are nothing but that.
type Reader interface {
	Registrations(ctx context.Context, ids []uuid.UUID) ([]enroll.Registration, error)
}

// Limits are how many may wait at once.
type Limits struct {
	Total           int
	PerRegistration int
}

var (
	errTooMany    = enroll.Errorf(enroll.Busy, "too many requests are waiting: ask again later, or without wait")
	errTooManyFor = enroll.Errorf(enroll.Busy, "too many requests are waiting for this registration: ask again later, or without wait")
)

// Watch reads registrations and waits for their changes. Run must be running.
type Watch struct {
	reader Reader
	limits Limits
	reads  chan *read
	log    *slog.Logger
	ended  chan struct{} // closed: nobody waits any longer

	mu      sync.Mutex
	waiting int // in all
	perID   map[uuid.UUID]int
	waiters map[enroll.RunID]map[*waiter]struct{}
	heard   map[enroll.RunID]time.Time // when a run was last heard of
	stale   map[*waiter]struct{}       // to be read again
	wake    chan struct{}              // has room for one: stale is not empty
}

// waiter is one person who waits.
type waiter struct {
	id     uuid.UUID
	run    enroll.RunID
	ticket int64
	news   chan answer // has room for one: the latest state
}

// New returns a watch over what reader reads.
func New(reader Reader, limits Limits, log *slog.Logger) *Watch {
	return &Watch{
		reader: reader, limits: limits, log: log,
		reads:   make(chan *read),
		ended:   make(chan struct{}),
		perID:   make(map[uuid.UUID]int),
		waiters: make(map[enroll.RunID]map[*waiter]struct{}),
		heard:   make(map[enroll.RunID]time.Time),
		stale:   make(map[*waiter]struct{}),
		wake:    make(chan struct{}, 1),
	}
}

// Wait returns the registration as soon as enough says so of it, and at the latest
// after d, or when the watch is ended. What it returns then is what was last known,
// except that one still queued after d is read again, since the line has moved. The
// errors are those of Get, which also bounds the two reads, and one of code Busy
// if as many wait as may.
func (w *Watch) Wait(ctx context.Context, id uuid.UUID, d time.Duration, enough func(enroll.Registration) bool) (enroll.Registration, error) {
	start := time.Now() // before the read: whatever is heard of after this counts
	r, err := w.Get(ctx, id)
	if err != nil || enough(r) {
		return r, err
	}
	me, err := w.join(r, start)
	if err != nil {
		return r, err
	}
	defer w.leave(me)
	up := time.NewTimer(d)
	defer up.Stop()
	for {
		select {
		case news := <-me.news:
			if r = news.Registration; news.err != nil || enough(r) {
				return r, news.err
			}
		case <-up.C:
			select {
			case news := <-me.news: // at the same instant
				if r = news.Registration; news.err != nil {
					return r, news.err
				}
			default:
			}
			if r.Status == enroll.Queued {
				return w.Get(ctx, id) // its position in the line has moved meanwhile
			}
			return r, nil // who asks again has it read
		case <-w.ended:
			return r, nil
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

func (w *Watch) join(r enroll.Registration, since time.Time) (*waiter, error) {
	me := &waiter{id: r.ID, run: r.RunID, ticket: r.Ticket, news: make(chan answer, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.waiting >= w.limits.Total:
		return nil, errTooMany
	case w.perID[me.id] >= w.limits.PerRegistration:
		return nil, errTooManyFor
	}
	w.waiting++
	w.perID[me.id]++
	if w.waiters[me.run] == nil {
		w.waiters[me.run] = make(map[*waiter]struct{})
	}
	w.waiters[me.run][me] = struct{}{}
	if !w.heard[me.run].Before(since) {
		w.markStale(me) // it may have changed between the read and now
	}
	return me, nil
}

func (w *Watch) leave(me *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	if w.perID[me.id]--; w.perID[me.id] == 0 {
		delete(w.perID, me.id)
	}
	delete(w.stale, me)
	delete(w.waiters[me.run], me)
	if len(w.waiters[me.run]) == 0 {
		delete(w.waiters, me.run)
	}
}

// Waiting returns how many people wait.
func (w *Watch) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting
}

// Settled tells that the tickets first to last of a run are decided, or have become
// something else.
func (w *Watch) Settled(run enroll.RunID, first, last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard[run] = time.Now()
	for each := range w.waiters[run] {
		if first <= each.ticket && each.ticket <= last {
			w.markStale(each)
		}
	}
}

// LookAtAll reads the state of everybody who waits: messages may have been lost.
func (w *Watch) LookAtAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiters := range w.waiters {
		for each := range waiters {
			w.markStale(each)
		}
	}
	for run, at := range w.heard {
		if time.Since(at) > 2*readTimeout { // no read takes that long
			delete(w.heard, run)
		}
	}
}

// markStale has the waiter's state read soon. The caller holds mu.
func (w *Watch) markStale(each *waiter) {
	w.stale[each] = struct{}{}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// End lets everybody who waits, and whoever comes later, go with what is known.
// It is called once.
func (w *Watch) End() { close(w.ended) }

// Run reads until ctx ends, then what is still being asked.
func (w *Watch) Run(ctx context.Context) error {
	var g errgroup.Group
	for range readersAtOnce {
		g.Go(func() error {
			for all := range batch.Each(ctx, w.reads, readAtOnce) {
				w.answer(all)
			}
			return nil
		})
	}
	g.Go(func() error {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
				w.LookAtAll()
			case <-w.wake:
				w.refresh()
			}
		}
	})
	return g.Wait()
}

// refresh reads the stale waiters again and gives them the news.
func (w *Watch) refresh() {
	w.mu.Lock()
	waiters := make([]*waiter, 0, len(w.stale))
	ids := make([]uuid.UUID, 0, len(w.stale))
	for each := range w.stale {
		waiters = append(waiters, each)
		ids = append(ids, each.id)
	}
	clear(w.stale)
	w.mu.Unlock()
	for len(ids) > 0 {
		n := min(len(ids), readAtOnce)
		found, err := w.lookup(ids[:n])
		if err != nil {
			w.log.Warn("the state of people who wait could not be read: the next look will", "error", err)
			return
		}
		for _, each := range waiters[:n] {
			if news, known := found[each.id]; known {
				each.tell(news)
			}
		}
		ids, waiters = ids[n:], waiters[n:]
	}
}

// tell replaces news that were not taken yet. Only refresh calls it.
func (each *waiter) tell(news answer) {
	select {
	case <-each.news:
	default:
	}
	each.news <- news
}
