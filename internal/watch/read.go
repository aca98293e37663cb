package watch

import (
	"context"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// readRequest asks for one registration.
type readRequest struct {
	id   uuid.UUID
	done chan readResult // has room for one
}

type readResult struct {
	enroll.Registration
	err error
}

// Get returns the registration, or an error of code NotFound, Corrected or
// Unavailable, or the context's error. It takes readTimeout at most, however
// many reads come before it.
func (w *Watch) Get(ctx context.Context, id uuid.UUID) (enroll.Registration, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r := &readRequest{id: id, done: make(chan readResult, 1)}
	select {
	case w.reads <- r:
	case <-ctx.Done():
		return enroll.Registration{}, ctx.Err()
	}
	select {
	case result := <-r.done:
		return result.Registration, result.err
	case <-ctx.Done():
		return enroll.Registration{}, ctx.Err()
	}
}

// read answers the requests with one read.
func (w *Watch) read(requests []*readRequest) {
	ids := make([]uuid.UUID, len(requests))
	for i, r := range requests {
		ids[i] = r.id
	}
	found, err := w.lookup(ids)
	for _, r := range requests {
		result := readResult{err: err}
		if err == nil {
			var ok bool
			if result, ok = found[r.id]; !ok {
				result.err = enroll.Errorf(enroll.NotFound, "there is no such registration")
			}
		}
		r.done <- result
	}
}

// lookup reads registrations by id. Unknown ones are not in the result.
func (w *Watch) lookup(ids []uuid.UUID) (map[uuid.UUID]readResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	registrations, err := w.reader.Registrations(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]readResult, len(registrations))
	for _, r := range registrations {
		if found[r.ID] = (readResult{Registration: r}); r.Retired {
			found[r.ID] = readResult{err: enroll.ErrCorrected}
		}
	}
	return found, nil
}
