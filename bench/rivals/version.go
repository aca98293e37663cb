package rivals

import (
	"context"
	"time"
)

// saveSeat is optimistic locking: it saves what was computed from the row as it was
// read, if the row is still that, and seats the person in the same statement.
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

// version reads the run, counts, and saves the count if nobody saved in between;
// else it begins again. It does not pause in between: who loses has waited for the
// winner's commit anyway.
var version = answer{
	name: "version",
	what: "saves the run only if lock_version is what it read, with the inserts in the same statement; begins again if not",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		for began := time.Now(); time.Since(began) < patience; {
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
			if err != nil || tag.RowsAffected() == 1 {
				return seated, err
			}
		}
		return gaveUp, nil
	},
}
