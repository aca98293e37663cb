package rivals

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// saveSeat is optimistic locking: it saves what was computed from the row as it was
// read, if the row has not changed since, and seats the person in the same
// statement.
const saveSeat = `
WITH saved AS (
    UPDATE runs SET attendances_count = $5, lock_version = lock_version + 1
    WHERE id = $1 AND lock_version = $6
    RETURNING id
)
INSERT INTO attendances (run_id, email_key, email, name) SELECT id, $2, $3, $4 FROM saved`

const saveSeatRecording = `
WITH saved AS (
    UPDATE runs SET attendances_count = $5, lock_version = lock_version + 1
    WHERE id = $1 AND lock_version = $6
    RETURNING id
), attendance AS (
    INSERT INTO attendances (run_id, email_key, email, name) SELECT id, $2, $3, $4 FROM saved
    RETURNING run_id
)
INSERT INTO requests (run_id, email_key, email, name, id, outcome, decided_at)
SELECT run_id, $2, $3, $4, $7, 'confirmed', clock_timestamp() FROM attendance`

// version reads the run, counts, and saves the count unless the row has changed in
// between; then it starts over. Of all requests that read the same version, one
// wins.
var version = answer{
	name: "version",
	what: "saves the run only if lock_version is what it read, with the inserts in the same statement; begins again if not",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		return db.untilFresh(func() (outcome, error) {
			r, err := db.read(ctx, run)
			if err != nil {
				return "", err
			}
			if r.count >= r.capacity {
				return full, db.recordIf(ctx, recording, run, p, full)
			}
			sql, args := saveSeat, []any{run, p.key, p.email, p.name, r.count + 1, r.version}
			if recording {
				sql, args = saveSeatRecording, append(args, p.id)
			}
			tag, err := db.Exec(ctx, sql, args...)
			if err == nil && tag.RowsAffected() == 0 {
				err = errStale
			}
			return seated, err
		})
	},
}

// touchRun is what a touch becomes under optimistic locking.
const touchRun = `UPDATE runs SET lock_version = lock_version + 1 WHERE id = $1 AND lock_version = $2`

// touch is the answer that was accepted, in one transaction: a counter cache
// counts without looking at the version column, so touch the run, which does look
// at it, and then create the attendance as before.
var touch = answer{
	name: "touch",
	what: "touches the run, checking lock_version, in the attendance's transaction; begins again on conflict",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		return db.untilFresh(func() (outcome, error) {
			r, err := db.read(ctx, run)
			if err != nil {
				return "", err
			}
			if r.count >= r.capacity {
				return full, db.recordIf(ctx, recording, run, p, full)
			}
			return seated, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, touchRun, run, r.version)
				if err != nil {
					return err
				}
				if tag.RowsAffected() == 0 {
					return errStale
				}
				batch := &pgx.Batch{}
				queueSeat(batch, recording, run, p)
				return tx.SendBatch(ctx, batch).Close()
			})
		})
	},
}

// errStale says that the run has changed since it was read.
var errStale = errors.New("the run has changed since it was read")

// untilFresh tries until the error is another one than errStale, or until the
// patience of the database's users ends, and counts the further attempts. It does
// not pause in between: random pauses of up to 5, 20 and 50 ms changed neither the
// time nor the number of attempts, since the loser has waited for the winner's
// commit anyway.
func (d *db) untilFresh(try func() (outcome, error)) (outcome, error) {
	for began := time.Now(); ; {
		o, err := try()
		if !errors.Is(err, errStale) {
			return o, err
		}
		d.retries.Add(1)
		if d.patience > 0 && time.Since(began) >= d.patience {
			return gaveUp, nil
		}
	}
}
