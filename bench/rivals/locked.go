package rivals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// forUpdate locks the run's row before it looks, so that looking and taking are
// one. Who waits for the row waits inside Postgres, holding a connection.
var forUpdate = answer{
	name: "for_update",
	what: "SELECT … FOR UPDATE on the run's row, then looks, inserts and counts",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		return db.inTurn(ctx, recording, run, p, readRun+` FOR UPDATE`)
	},
}

// advisory locks a number in place of the row, until the end of the transaction, as
// pretix does. The row is read by a statement of its own: one that waited for the
// lock would see the row as it was before.
var advisory = answer{
	name: "advisory",
	what: "pg_advisory_xact_lock on the run's id, then looks, inserts and counts (as pretix)",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		return db.inTurn(ctx, recording, run, p, `SELECT pg_advisory_xact_lock($1)`, readRun)
	},
}

// inTurn is a transaction in two round trips: the statements that lock the run, of
// which the last one reads it, and what follows from that.
func (d *db) inTurn(ctx context.Context, recording bool, run int32, p person, lock ...string) (outcome, error) {
	conn, err := d.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	o, err := lockAndTake(ctx, conn, recording, run, p, lock)
	if err != nil {
		// The pool throws a connection away that is still in a transaction.
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
	default: // nothing is written, and so there is nothing to wait for
		_, err := conn.Exec(ctx, "rollback")
		return full, err
	}
	batch.Queue("commit")
	return o, conn.SendBatch(ctx, batch).Close()
}
