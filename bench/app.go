package bench

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// schema is the application of the question, as far as the answers touch it:
// the run with its counter cache and the attendances. There are no foreign keys:
// they cost every answer alike and change none (Lastseat's hot path has none
// either), so the users need not exist.
const schema = `
CREATE TABLE scheduled_runs (
    id                integer PRIMARY KEY,
    capacity          integer NOT NULL,
    attendances_count integer NOT NULL DEFAULT 0,
    lock_version      integer NOT NULL DEFAULT 0,
    updated_at        timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE attendances (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scheduled_run_id integer NOT NULL,
    user_id          integer NOT NULL,
    UNIQUE (scheduled_run_id, user_id)
);`

// create makes the application's tables in a schema of that name, with one run,
// number 1.
func create(ctx context.Context, conn *pgx.Conn, name string, seats int) error {
	if err := drop(ctx, conn, name); err != nil { // somebody's who was killed
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "CREATE SCHEMA "+name+"; SET LOCAL search_path = "+name+";"+schema)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO scheduled_runs (id, capacity) VALUES (1, $1)`, seats)
		return err
	})
}

func drop(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+name+" CASCADE")
	return err
}

// run is what the application reads of a scheduled run.
type run struct {
	capacity, attendancesCount, lockVersion int
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

const findRun = `SELECT capacity, attendances_count, lock_version FROM scheduled_runs WHERE id = 1`

// find reads the run; locking is empty or a locking clause.
func find(ctx context.Context, q querier, locking string) (r run, err error) {
	err = q.QueryRow(ctx, findRun+locking).Scan(&r.capacity, &r.attendancesCount, &r.lockVersion)
	return r, err
}

const (
	insertAttendance = `INSERT INTO attendances (scheduled_run_id, user_id) VALUES (1, $1)`
	incrementCounter = `UPDATE scheduled_runs SET attendances_count = attendances_count + 1 WHERE id = 1`
)

// attend does what a counter cache makes of creating an attendance: the row, and
// one more in the counter, whatever that is by now. Both travel together.
func attend(ctx context.Context, tx pgx.Tx, user int) error {
	batch := &pgx.Batch{}
	batch.Queue(insertAttendance, user)
	batch.Queue(incrementCounter)
	return tx.SendBatch(ctx, batch).Close()
}
