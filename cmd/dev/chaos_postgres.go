package main

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresRestarted stops Postgres as `pg_ctl stop -m immediate` does, which to
// it is a crash.
func postgresRestarted(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	p := s.postgres.process
	p.stopping.Store(true)
	if err := syscall.Kill(p.pid, syscall.SIGQUIT); err != nil { // the postmaster, which tells its children
		return err
	}
	<-p.ended
	away := between(r, 100*time.Millisecond, 2*time.Second)
	tell("immediately, and back %s later", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return s.postgres.start(context.WithoutCancel(ctx), s.family)
}

// postgresFrozen stops all of Postgres in its tracks: connections stand, and
// nothing answers.
func postgresFrozen(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	pid := s.postgres.process.pid
	signalTree(pid, syscall.SIGSTOP)
	defer signalTree(pid, syscall.SIGCONT)
	away := between(r, 2*time.Second, 8*time.Second)
	tell("for %s", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return nil
}

// signalTree signals a process and its children, which with Postgres are in groups
// of their own. The parent comes first: once it is frozen it has no more children.
func signalTree(pid int, signal syscall.Signal) {
	for _, p := range append([]int{pid}, childrenOf(pid)...) {
		_ = syscall.Kill(p, signal) // fails only if it has ended
	}
}

// laneLockHolders finds the sessions that hold lanes: each is a worker's.
const laneLockHolders = `
	SELECT DISTINCT pid FROM pg_locks
	WHERE locktype = 'advisory' AND granted AND classid = x'6c616e65'::integer AND objsubid = 2
	  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	ORDER BY pid`

// lockFrozen is longer than a line may stand still behind a frozen lock, which is
// what is judged.
const lockFrozen = slowRecovery + 2*time.Second

// lockBackendFrozen freezes the backend of a session that holds lanes. Its locks
// stay, whatever becomes of its worker.
func lockBackendFrozen(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for range 50 {
		rows, _ := conn.Query(ctx, laneLockHolders) // collecting has the error
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			pid := pids[r.IntN(len(pids))]
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				return err
			}
			defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
			tell("process %d for %s", pid, lockFrozen)
			sleep(ctx, lockFrozen)
			return nil
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return nil
		}
	}
	return nil // no lane is alive: nothing can be broken
}

// lineHeld has a session of somebody else's lock the head of the line that most
// people ask for. Nothing can be accepted there meanwhile, and whoever asks must
// hear just that.
func lineHeld(ctx context.Context, s *site, r *rand.Rand, tell teller) error {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // which lets go of it
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	var run int32
	if err := conn.QueryRow(ctx, `SELECT run_id FROM lines ORDER BY run_id LIMIT 1 FOR UPDATE`).Scan(&run); err != nil {
		return err
	}
	away := between(r, 6*time.Second, 10*time.Second)
	tell("that of run %d, for %s", run, away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return nil
}
