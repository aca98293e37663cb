package rivals

import "context"

// takeSeat counts and inserts in one statement, which is one round trip and one
// transaction. A request that waited for the row checks it again: Postgres
// evaluates the WHERE on the newest version. When the run is full, nothing is
// locked and nothing is written. This is the best of the known answers: its lock is
// as short as it can be.
const takeSeat = `
WITH seat AS (
    UPDATE runs SET attendances_count = attendances_count + 1
    WHERE id = $1 AND attendances_count < capacity
    RETURNING id
)
INSERT INTO attendances (run_id, email_key, email, name) SELECT id, $2, $3, $4 FROM seat`

// takeSeatRecording writes the outcome in the same statement.
const takeSeatRecording = `
WITH seat AS (
    UPDATE runs SET attendances_count = attendances_count + 1
    WHERE id = $1 AND attendances_count < capacity
    RETURNING id
), attendance AS (
    INSERT INTO attendances (run_id, email_key, email, name) SELECT id, $2, $3, $4 FROM seat
    RETURNING 1
)
INSERT INTO requests (run_id, email_key, email, name, id, outcome, decided_at)
SELECT $1, $2, $3, $4, $5, CASE WHEN EXISTS (SELECT FROM attendance) THEN 'confirmed' ELSE 'full' END, clock_timestamp()
RETURNING outcome`

var guarded = answer{
	name: "guarded",
	what: "one statement: UPDATE … WHERE attendances_count < capacity, with the inserts",
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (o outcome, err error) {
		if recording {
			err = db.QueryRow(ctx, takeSeatRecording, run, p.key, p.email, p.name, p.id).Scan(&o)
			return o, err
		}
		tag, err := db.Exec(ctx, takeSeat, run, p.key, p.email, p.name)
		if err == nil && tag.RowsAffected() == 0 {
			return full, nil
		}
		return seated, err
	},
}
