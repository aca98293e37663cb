package lane

import (
	"context"
	"errors"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// failingLocks are a connection whose pings end with an error.
type failingLocks struct {
	idleLocks
	fail   error
	pings  int // the race detector sees pings that are not serialised
	closed chan struct{}
}

func (f *failingLocks) Ping(context.Context) error {
	f.pings++
	return f.fail
}

func (f *failingLocks) Close() { close(f.closed) }

func TestLockSession(t *testing.T) {
	t.Parallel()

	t.Run("an error loses it once, with its lanes, before the connection is closed", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("broken")
		locks := &failingLocks{fail: broken, closed: make(chan struct{})}
		losses := 0
		session := newLockSession(locks, func(s *lockSession, err error) {
			losses++
			if !errors.Is(err, broken) || s.ctx.Err() == nil {
				t.Errorf("lost by %v, and its context says %v", err, s.ctx.Err())
			}
			select {
			case <-locks.closed:
				t.Error("the connection was closed first")
			default:
			}
		})
		errs := make(chan error)
		for range 10 {
			go func() { errs <- session.ping() }()
		}
		for range 10 {
			if err := <-errs; !errors.Is(err, broken) {
				t.Errorf("a use ended with %v", err)
			}
		}
		<-locks.closed
		if got, err := session.acquire([]enroll.RunID{1}); err == nil {
			t.Errorf("a lost session took the locks of %v", got)
		}
		session.close()
		if losses != 1 {
			t.Errorf("it was lost %d times", losses)
		}
	})

	t.Run("closing it is no loss", func(t *testing.T) {
		t.Parallel()
		locks := &failingLocks{closed: make(chan struct{})}
		session := newLockSession(locks, func(*lockSession, error) { t.Error("it is a loss") })
		if err := session.ping(); err != nil {
			t.Fatal(err)
		}
		session.close()
		session.close()
		<-locks.closed
		if err := session.release([]enroll.RunID{1}); !errors.Is(err, errSessionClosed) {
			t.Errorf("a use of a closed session ended with %v", err)
		}
	})
}
