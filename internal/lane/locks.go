package lane

import (
	"context"
	"log/slog"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

const (
	// IdleLocks is after how long the server ends a lock connection that it has
	// not heard of. Pings keep it, and one without an answer in time counts as
	// its loss: both ends know within about three seconds.
	IdleLocks   = 3 * time.Second
	pingEvery   = time.Second
	pingTimeout = 2 * time.Second

	// connectTimeout is for the connection and its first statements.
	connectTimeout = 5 * time.Second
)

// Locks owns lanes: one session that holds a lock per run. An error means that
// the session, and with it every lock, is lost or must be given up.
type Locks interface {
	// TryLock returns the runs whose locks it got.
	TryLock(ctx context.Context, runs ...enroll.RunID) ([]enroll.RunID, error)
	Unlock(ctx context.Context, runs ...enroll.RunID) error
	Ping(ctx context.Context) error
	Close()
}

// keepLocks holds a lock connection until ctx ends, and gets another one when it
// is lost. It does nothing else: a ping that comes late loses every lane.
func (s *Supervisor) keepLocks(ctx context.Context) error {
	var wait backoff
	away := outage.New(s.log, slog.LevelError, "there is no lane lock connection: this worker has no lanes, and lines wait for its sweep",
		"there is a lane lock connection again: this worker serves lanes")
	for ctx.Err() == nil {
		connecting, cancel := context.WithTimeout(ctx, connectTimeout)
		locks, err := s.connect(connecting)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				away.Failed(err)
			}
			select {
			case <-ctx.Done():
			case <-wait.next(err):
			}
			continue
		}
		wait = backoff{}
		away.Recovered()
		s.hold(locks)
		s.log.Info("ready: lane lock connection established")
		ticker := time.NewTicker(pingEvery)
		for err == nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-ticker.C:
				err = s.ping(ctx, locks)
			}
		}
		ticker.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks != nil {
		s.lose(context.Canceled)
		s.ready.Store(false)
		s.locks.Close()
		s.locks = nil
	}
	return nil
}

func (s *Supervisor) hold(locks Locks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks = locks
	s.ready.Store(!s.stopping)
	s.held, s.lose = context.WithCancelCause(context.Background())
	clear(s.elsewhere) // some of it was this worker's own old session
	select {
	case s.look <- struct{}{}: // for whatever waited for a worker
	default:
	}
}

// ping returns an error when the connection is lost, also if somebody else has
// noticed before.
func (s *Supervisor) ping(ctx context.Context, locks Locks) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks != locks {
		return enroll.Errorf(enroll.Unavailable, "the lane lock connection was lost")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	err := locks.Ping(ctx)
	if err != nil {
		s.lost(err)
	}
	return err
}

// lost gives up the connection and cancels every lane that it owned. The caller
// holds mu.
func (s *Supervisor) lost(err error) {
	s.log.Error("the lane lock connection is lost, and all lanes with it", "lanes", len(s.lanes), "error", err)
	s.metrics.lost.Inc()
	s.lose(err)
	s.ready.Store(false)
	s.locks.Close()
	s.locks = nil
	clear(s.lanes)
	s.crowded = nil
	s.metrics.lanes.Set(0)
}

// claim takes the locks of those runs that are not known to be owned elsewhere, and
// returns the calls for which it got them. The caller holds mu.
func (s *Supervisor) claim(calls []call) (mine []call) {
	if s.stopping || s.locks == nil {
		return nil
	}
	var free []call
	for _, c := range calls {
		if time.Since(s.elsewhere[c.run]) >= elsewhereFor {
			free = append(free, c)
		}
	}
	if len(free) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.held, pingTimeout)
	defer cancel()
	got, err := s.locks.TryLock(ctx, runsOf(free)...)
	if err != nil {
		s.lost(err)
		return nil
	}
	locked := make(map[enroll.RunID]bool, len(got))
	for _, run := range got {
		locked[run] = true
	}
	for _, c := range free {
		if locked[c.run] {
			mine = append(mine, c)
		} else {
			s.elsewhere[c.run] = time.Now()
		}
	}
	return mine
}

// giveUp gives the locks of the runs back. The caller holds mu and the locks.
func (s *Supervisor) giveUp(calls []call) {
	if len(calls) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.held, pingTimeout)
	defer cancel()
	if err := s.locks.Unlock(ctx, runsOf(calls)...); err != nil {
		s.lost(err)
	}
}
