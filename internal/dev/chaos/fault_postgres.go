package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// restartPostgres stops Postgres as `pg_ctl stop -m immediate` does, from which it
// recovers as from a crash.
func restartPostgres(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	s.postgres.Process.Quit()
	d := between(r, 100*time.Millisecond, 2*time.Second)
	report("immediately, and back %s later", d.Round(10*time.Millisecond))
	proc.Sleep(ctx, d)
	return s.postgres.Start(context.WithoutCancel(ctx), s.group)
}

// freezePostgres suspends all of Postgres: connections stay open, and nothing
// answers.
func freezePostgres(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	pid := s.postgres.Process.PID
	proc.SignalTree(pid, syscall.SIGSTOP)
	defer proc.SignalTree(pid, syscall.SIGCONT)
	pause(ctx, r, 2*time.Second, 8*time.Second, report)
	return nil
}

// laneLockHolders finds the sessions that hold lanes. Each is a worker's.
const laneLockHolders = `
	SELECT DISTINCT pid FROM pg_locks
	WHERE locktype = 'advisory' AND granted AND classid = x'6c616e65'::integer AND objsubid = 2
	  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	ORDER BY pid`

// lockFrozen is longer than a line may stand still behind a frozen lock, which is
// what is judged.
const lockFrozen = slowRecovery + 2*time.Second

// freezeLockBackend freezes the backend of a session that holds lanes. Its locks
// remain, whatever its worker does.
func freezeLockBackend(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for range 50 {
		rows, _ := conn.Query(ctx, laneLockHolders)
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int]) // with the error of Query
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			pid := pids[r.IntN(len(pids))]
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				return err
			}
			defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
			report("process %d for %s", pid, lockFrozen)
			proc.Sleep(ctx, lockFrozen)
			return nil
		}
		if !proc.Sleep(ctx, 100*time.Millisecond) {
			return nil
		}
	}
	return nil // no lane is alive, so there is nothing to break
}

// holdLine locks the head of the busiest line from a session of its own. Nothing
// can be accepted there meanwhile, and that is what people must be told.
func holdLine(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // releases the lock
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	var run int32
	if err := conn.QueryRow(ctx, `SELECT run_id FROM lines ORDER BY run_id LIMIT 1 FOR UPDATE`).Scan(&run); err != nil {
		return err
	}
	d := between(r, 6*time.Second, 10*time.Second)
	report("that of run %d, for %s", run, d.Round(10*time.Millisecond))
	proc.Sleep(ctx, d)
	return nil
}

// settableClock gives a new database a clock that can be set. Calls of
// clock_timestamp() and now() find these before those of Postgres, since
// pg_catalog comes last in the search path. Setting the clock of all of Postgres
// back would need a library below it (libfaketime) that reads a file in signal
// handlers. So the timers of Postgres itself keep the right time here.
const settableClock = `
CREATE SCHEMA chaos;
CREATE TABLE chaos.clock (behind interval NOT NULL);
INSERT INTO chaos.clock VALUES ('0');
CREATE FUNCTION chaos.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS
	'SELECT pg_catalog.clock_timestamp() - (SELECT behind FROM chaos.clock)';
CREATE FUNCTION chaos.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS
	'SELECT pg_catalog.now() - (SELECT behind FROM chaos.clock)';
`

// installClock gives the empty database at url such a clock.
func installClock(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("making a clock that can be set: %w", err)
	}
	defer conn.Close(ctx)
	database := pgx.Identifier{conn.Config().Database}.Sanitize()
	_, err = conn.Exec(ctx, settableClock+"ALTER DATABASE "+database+" SET search_path = public, chaos, pg_catalog")
	if err != nil {
		return fmt.Errorf("making a clock that can be set: %w", err)
	}
	return nil
}

// setClockBack sets the ledger's clock back for good. From then on, everything
// that is due by a time written before is due hours later.
func setClockBack(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	conn, err := pgx.Connect(ctx, s.postgresURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	back := between(r, 2*time.Hour, 3*time.Hour).Round(time.Second)
	report("by %s", back)
	_, err = conn.Exec(ctx, `UPDATE chaos.clock SET behind = behind + $1`, back)
	return err
}
