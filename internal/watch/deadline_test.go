package watch_test

import (
	"context"
	"errors"
	"log/slog"
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
