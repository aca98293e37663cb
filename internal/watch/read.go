package watch

import (
	"context"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// read is one person's request to be told.
type read struct {
	id   uuid.UUID
	done chan answer // has room for one
}

type answer struct {
	enroll.Registration
	err error
}

// Get returns the registration, or an error of code NotFound, Corrected or
// Unavailable, or the context's. It takes readTimeout at most, however many reads
// are ahead of it.
func (w *Watch) Get(ctx context.Context, id uuid.UUID) (enroll.Registration, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r := &read{id: id, done: make(chan answer, 1)}
	select {
	case w.reads <- r:
	case <-ctx.Done():
		return enroll.Registration{}, ctx.Err()
	}
	select {
	case a := <-r.done:
		return a.Registration, a.err
	case <-ctx.Done():
		return enroll.Registration{}, ctx.Err()
	}
}

func (w *Watch) answer(all []*read) {
	ids := make([]uuid.UUID, len(all))
	for i, r := range all {
		ids[i] = r.id
	}
	found, err := w.lookup(ids)
	for _, r := range all {
		a := answer{err: err}
		if err == nil {
			var known bool
			if a, known = found[r.id]; !known {
				a.err = enroll.Errorf(enroll.NotFound, "there is no such registration")
			}
		}
		r.done <- a
	}
}

func (w *Watch) lookup(ids []uuid.UUID) (map[uuid.UUID]answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	all, err := w.reader.Registrations(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]answer, len(all))
	for _, r := range all {
		if found[r.ID] = (answer{Registration: r}); r.Retired {
			found[r.ID] = answer{err: enroll.ErrCorrected}
		}
	}
	return found, nil
}
