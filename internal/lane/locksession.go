package lane

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// IdleLocks is how long the server keeps a lock connection that says nothing.
	// Pings keep it alive, and a ping without an answer in time counts as its
	// loss, so both ends know of a loss within about three seconds.
	IdleLocks = 3 * time.Second

	pingInterval = time.Second

	// lockTimeout bounds each use of the lock connection.
	lockTimeout = 2 * time.Second
)

// Locks is one session of the database that holds a lock for each run whose
// lane this worker owns. After an error the session, and with it every lock,
// is lost or must be given up. It need not be safe for concurrent use.
type Locks interface {
	// TryLock returns the runs whose locks it took.
	TryLock(ctx context.Context, runs ...enroll.RunID) ([]enroll.RunID, error)
	Unlock(ctx context.Context, runs ...enroll.RunID) error
	Ping(ctx context.Context) error
	Close()
}

// errSessionClosed is the cause of a session's end that is no loss.
var errSessionClosed = errors.New("the lane lock connection was closed")

// lockSession is one lock connection, from its beginning to its loss.
type lockSession struct {
	ctx    context.Context // ends with the session; its cause says why
	cancel context.CancelCauseFunc
	lost   func(*lockSession, error)

	// mu serialises the use of the connection: it is held while the database is
	// waited for, for at most lockTimeout and the time that closing takes. Nothing
	// else in this package waits for anything while it holds a mutex.
	mu    sync.Mutex
	locks Locks
}

// newLockSession returns a session over a connection. It calls lost once, with
// the error, when the connection is lost. By then ctx has ended and nobody can
// use the session any more; the connection is closed after that.
func newLockSession(locks Locks, lost func(*lockSession, error)) *lockSession {
	s := &lockSession{locks: locks, lost: lost}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// acquire takes the locks of those runs that no other session holds, and
// returns these runs.
func (s *lockSession) acquire(runs []enroll.RunID) (got []enroll.RunID, err error) {
	err = s.use(func(ctx context.Context) (err error) {
		got, err = s.locks.TryLock(ctx, runs...)
		return err
	})
	return got, err
}

// release gives the locks of the runs back.
func (s *lockSession) release(runs []enroll.RunID) error {
	if len(runs) == 0 {
		return nil
	}
	return s.use(func(ctx context.Context) error { return s.locks.Unlock(ctx, runs...) })
}

func (s *lockSession) ping() error { return s.use(s.locks.Ping) }

// use has the connection to itself while do runs. An error of do loses the
// session. Once it is lost, use returns the error that lost it.
func (s *lockSession) use(do func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	ctx, cancel := context.WithTimeout(s.ctx, lockTimeout)
	defer cancel()
	err := do(ctx)
	if err != nil {
		s.cancel(err)
		s.lost(s, err)
		s.locks.Close()
	}
	return err
}

// close ends the session, and with it every lock that it holds.
func (s *lockSession) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.cancel(errSessionClosed)
		s.locks.Close()
	}
}
