package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/watch"
)

// stuckReader gives no answer until it is closed, whatever its context says.
type stuckReader chan struct{}

func (s stuckReader) Registrations(context.Context, []uuid.UUID) ([]enroll.Registration, error) {
	<-s
	return nil, errors.New("closed")
}

// TestNoReadWaitsForEver: callers bring no deadline of their own, as for the
// answer to a repeated POST, and all readers may be stuck.
func TestNoReadWaitsForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(stuckReader)
		w := watch.New(stuck, watch.Limits{}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		asked := make(chan error)
		for range 5 { // more than there are readers
			go func() {
				_, err := w.Get(context.Background(), uuid.New())
				asked <- err
			}()
		}
		for range 3 {
			go func() {
				_, err := w.Wait(context.Background(), uuid.New(), time.Hour, func(enroll.Registration) bool { return false })
				asked <- err
			}()
		}
		for range 8 {
			select {
			case err := <-asked:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error is %v", err)
				}
			case <-time.After(time.Minute): // of the bubble's clock
				t.Error("a read has no deadline")
			}
		}
		stop()
		close(stuck)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// newsReader says of every registration that it is queued, and confirmed from the
// second read on. heard is called during the first.
type newsReader struct {
	heard func()
	reads atomic.Int64
}

func (r *newsReader) Registrations(_ context.Context, ids []uuid.UUID) (found []enroll.Registration, _ error) {
	status := enroll.Confirmed
	if r.reads.Add(1) == 1 {
		r.heard()
		status = enroll.Queued
	}
	for _, id := range ids {
		found = append(found, enroll.Registration{ID: id, RunID: 1, Ticket: 1, Status: status})
	}
	return found, nil
}

// TestAMessageBetweenTheReadAndTheWait is heard at once, and not found by the
// look at everybody three seconds later.
func TestAMessageBetweenTheReadAndTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := new(newsReader)
		w := watch.New(reader, watch.Limits{Total: 1, PerRegistration: 1}, slog.New(slog.DiscardHandler))
		reader.heard = func() { w.Settled(1, 1, 1) }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		began := time.Now()
		r, err := w.Wait(t.Context(), uuid.New(), time.Minute, decided)
		if took := time.Since(began); err != nil || r.Status != enroll.Confirmed || took >= time.Second { // of the bubble's clock
			t.Errorf("after %s it is %s, %v", took, r.Status, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
