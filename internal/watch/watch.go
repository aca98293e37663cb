// Package watch lets many clients wait for changes of registrations at the cost
// of a few reads.
//
// It knows which clients of one API process wait for which registration. It
// reads registrations in batches, never for one client, and keeps no connection
// for a client. It must not know HTTP or SQL, nor where messages come from.
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
	maxBatch      = 500 // registrations in one read
	readTimeout   = 5 * time.Second

	// refreshInterval is how often every registration that is waited for is read,
	// in case a message was lost.
	refreshInterval = 3 * time.Second
)

// Reader reads registrations by id and leaves out unknown ones. Of those whose
// id is retired it returns only the id and that it is.
type Reader interface {
	Registrations(ctx context.Context, ids []uuid.UUID) ([]enroll.Registration, error)
}

// Limits are how many clients may wait at once.
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
	reads  chan *readRequest
	log    *slog.Logger
	ended  chan struct{} // closed: no client waits any longer

	mu        sync.Mutex
	waiting   int               // clients, in all
	perID     map[uuid.UUID]int // clients
	clients   map[enroll.RunID]map[*client]struct{}
	lastHeard map[enroll.RunID]time.Time // when this process last heard that a run was settled
	outdated  map[*client]struct{}       // clients whose registrations must be read again
	wake      chan struct{}              // has room for one: some clients are outdated
}

// client is one client that waits.
type client struct {
	id     uuid.UUID
	run    enroll.RunID
	ticket int64
	latest chan readResult // has room for one
}

// New returns a watch over the registrations that reader reads.
func New(reader Reader, limits Limits, log *slog.Logger) *Watch {
	return &Watch{
		reader: reader, limits: limits, log: log,
		reads:     make(chan *readRequest),
		ended:     make(chan struct{}),
		perID:     make(map[uuid.UUID]int),
		clients:   make(map[enroll.RunID]map[*client]struct{}),
		lastHeard: make(map[enroll.RunID]time.Time),
		outdated:  make(map[*client]struct{}),
		wake:      make(chan struct{}, 1),
	}
}

// Wait returns the registration as soon as done returns true for it, and at the
// latest after d, or when the watch is ended. Then it returns the registration
// as it was last read, but reads one again that is still queued after d, since
// its position has changed. The errors are those of Get, which also bounds the
// two reads, and one of code Busy if too many clients wait already.
func (w *Watch) Wait(ctx context.Context, id uuid.UUID, d time.Duration, done func(enroll.Registration) bool) (enroll.Registration, error) {
	start := time.Now() // before the read: whatever is heard after this counts
	r, err := w.Get(ctx, id)
	if err != nil || done(r) {
		return r, err
	}
	c, err := w.join(r, start)
	if err != nil {
		return r, err
	}
	defer w.leave(c)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case latest := <-c.latest:
			if r = latest.Registration; latest.err != nil || done(r) {
				return r, latest.err
			}
		case <-timer.C:
			select {
			case latest := <-c.latest: // at the same instant
				if r = latest.Registration; latest.err != nil {
					return r, latest.err
				}
			default:
			}
			if r.Status == enroll.Queued {
				return w.Get(ctx, id)
			}
			return r, nil // a client that asks again has it read
		case <-w.ended:
			return r, nil
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

// join adds a client that waits for a registration, which was read after since.
func (w *Watch) join(r enroll.Registration, since time.Time) (*client, error) {
	c := &client{id: r.ID, run: r.RunID, ticket: r.Ticket, latest: make(chan readResult, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.waiting >= w.limits.Total:
		return nil, errTooMany
	case w.perID[c.id] >= w.limits.PerRegistration:
		return nil, errTooManyFor
	}
	w.waiting++
	w.perID[c.id]++
	if w.clients[c.run] == nil {
		w.clients[c.run] = make(map[*client]struct{})
	}
	w.clients[c.run][c] = struct{}{}
	if !w.lastHeard[c.run].Before(since) {
		w.markOutdated(c) // the registration may have changed since it was read
	}
	return c, nil
}

func (w *Watch) leave(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	if w.perID[c.id]--; w.perID[c.id] == 0 {
		delete(w.perID, c.id)
	}
	delete(w.outdated, c)
	delete(w.clients[c.run], c)
	if len(w.clients[c.run]) == 0 {
		delete(w.clients, c.run)
	}
}

// Waiting returns how many clients wait.
func (w *Watch) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting
}

// End lets all clients that wait, or will, go with the last state that was
// read. It is called once.
func (w *Watch) End() { close(w.ended) }

// Run reads until ctx ends, and then what clients still ask for.
func (w *Watch) Run(ctx context.Context) error {
	var g errgroup.Group
	for range readersAtOnce {
		g.Go(func() error {
			for requests := range batch.Each(ctx, w.reads, maxBatch) {
				w.read(requests)
			}
			return nil
		})
	}
	g.Go(func() error {
		w.refresh(ctx)
		return nil
	})
	return g.Wait()
}
