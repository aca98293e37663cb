package rivals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// forUpdate locks the run's row before it looks, so that no request looks between
// another's looking and taking. Requests wait for the row inside Postgres, each
// holding a connection.
var forUpdate = answer{
	name: "for_update",
	what: "SELECT … FOR UPDATE on the run's row, then looks, inserts and counts",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		return db.inTurn(ctx, recording, run, p, readRun+` FOR UPDATE`)
	},
}

// advisory locks a number instead of the row, until the end of the transaction, as
// pretix does. A statement of its own reads the row: the one that waited for the
// lock would see the row as it was before.
var advisory = answer{
	name: "advisory",
	what: "pg_advisory_xact_lock on the run's id, then looks, inserts and counts (as pretix)",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		return db.inTurn(ctx, recording, run, p, `SELECT pg_advisory_xact_lock($1)`, readRun)
	},
}

// inTurn is a transaction in two round trips: first the statements that lock the
// run, the last of which reads it, then the ones that follow from that.
func (d *db) inTurn(ctx context.Context, recording bool, run int32, p person, lock ...string) (outcome, error) {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	o, err := lockAndTake(ctx, conn, recording, run, p, lock)
	if err != nil {
		// The pool discards a connection that is still in a transaction.
		_, _ = conn.Exec(ctx, "rollback")
	}
	return o, err
}

func lockAndTake(ctx context.Context, conn *pgxpool.Conn, recording bool, run int32, p person, lock []string) (outcome, error) {
	batch := &pgx.Batch{}
	batch.Queue("begin")
	var r state
	for i, sql := range lock {
		q := batch.Queue(sql, run)
		if i == len(lock)-1 {
			q.QueryRow(r.scan)
		}
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return "", fmt.Errorf("locking the run: %w", err)
	}
	batch = &pgx.Batch{}
	o := seated
	switch {
	case r.count < r.capacity:
		queueSeat(batch, recording, run, p)
	case recording:
		o = full
		queueRequest(batch, run, p, full)
	default: // nothing was written, so there is nothing to commit
		_, err := conn.Exec(ctx, "rollback")
		return full, err
	}
	batch.Queue("commit")
	return o, conn.SendBatch(ctx, batch).Close()
}
