package rivals

import "context"

// skipSchema has a row for each seat. Free seats are in one index and taken ones in
// the other, which lets no address have two.
const skipSchema = `
CREATE TABLE seats (
    run_id    integer NOT NULL,
    number    integer NOT NULL,
    email_key text,
    email     text,
    name      text,
    PRIMARY KEY (run_id, number)
) WITH (fillfactor = 50);
CREATE INDEX seats_free ON seats (run_id, number) WHERE email_key IS NULL;
CREATE UNIQUE INDEX seats_taken ON seats (run_id, email_key) WHERE email_key IS NOT NULL;
INSERT INTO seats (run_id, number) SELECT r.id, n FROM runs r, generate_series(1, r.capacity) n`

// skipTake takes the first free seat that no other request is just taking. No
// request waits for another, and commits share their flush.
const skipTake = `
UPDATE seats SET email_key = $2, email = $3, name = $4
WHERE run_id = $1 AND number = (
    SELECT number FROM seats WHERE run_id = $1 AND email_key IS NULL ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED
)`

const skipTakeRecording = `
WITH seat AS (` + skipTake + ` RETURNING 1)
INSERT INTO requests (run_id, email_key, email, name, id, outcome, decided_at)
SELECT $1, $2, $3, $4, $5, CASE WHEN EXISTS (SELECT FROM seat) THEN 'confirmed' ELSE 'full' END, clock_timestamp()
RETURNING outcome`

// skipLocked has a row per seat, as alf.io does. While other requests are taking the
// last seats, a person is refused even if one of those requests fails.
var skipLocked = answer{
	name:  "skip_locked",
	what:  "a row for each seat, taken with FOR UPDATE SKIP LOCKED (as alf.io); there is no run without a number of seats",
	lacks: "last seats, ",
	seats: `SELECT count(*) FROM seats s WHERE s.run_id = r.id AND s.email_key IS NOT NULL`,
	prepare: func(ctx context.Context, db *db) error {
		_, err := db.Exec(ctx, skipSchema)
		return err
	},
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (o outcome, err error) {
		if recording {
			err = db.QueryRow(ctx, skipTakeRecording, run, p.key, p.email, p.name, p.id).Scan(&o)
			return o, err
		}
		tag, err := db.Exec(ctx, skipTake, run, p.key, p.email, p.name)
		if err == nil && tag.RowsAffected() == 0 {
			return full, nil
		}
		return seated, err
	},
}
