package lane

import (
	"context"
	"log/slog"
	"time"

	"github.com/lastseat/lastseat/internal/outage"
)

// connectTimeout is for the connection and its first statements.
const connectTimeout = 5 * time.Second

// lockKeeper keeps the worker's lock connection: it connects, pings, and
// connects again after a loss. It must not know lanes.
type lockKeeper struct {
	connect func(context.Context) (Locks, error)
	opened  func(*lockSession)        // a new connection stands
	lost    func(*lockSession, error) // see newLockSession
	outage  *outage.Log
}

func newLockKeeper(connect func(context.Context) (Locks, error), opened func(*lockSession),
	lost func(*lockSession, error), log *slog.Logger) *lockKeeper {
	return &lockKeeper{
		connect: connect, opened: opened, lost: lost,
		outage: outage.New(log, slog.LevelError,
			"no lane lock connection: this worker has no lanes, and only its sweep settles lines",
			"lane lock connection is back: this worker can own lanes again"),
	}
}

// run keeps a connection until ctx ends, and closes it then. It does nothing
// else: a ping that comes late loses every lane.
func (k *lockKeeper) run(ctx context.Context) error {
	for {
		session := k.open(ctx)
		if session == nil {
			return nil
		}
		k.opened(session)
		keepAlive(ctx, session)
		session.close()
	}
}

// open returns a session over a new connection, or nil when ctx has ended.
func (k *lockKeeper) open(ctx context.Context) *lockSession {
	var wait backoff
	for ctx.Err() == nil {
		connecting, cancel := context.WithTimeout(ctx, connectTimeout)
		locks, err := k.connect(connecting)
		cancel()
		if err == nil {
			k.outage.Recovered()
			return newLockSession(locks, k.lost)
		}
		if ctx.Err() == nil {
			k.outage.Failed(err)
		}
		select {
		case <-ctx.Done():
		case <-wait.next(err):
		}
	}
	return nil
}

// keepAlive pings until the session is lost or ctx ends.
func keepAlive(ctx context.Context, session *lockSession) {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if session.ping() != nil {
				return
			}
		}
	}
}
