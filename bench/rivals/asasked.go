package rivals

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// asAsked is the code of the question: look whether the run is full, by ==, then
// take a seat. Between the two everybody else looks as well. What a counter cache
// makes of taking a seat, the row and one more in the counter, is one transaction
// in one round trip.
var asAsked = answer{
	name:      "as_asked",
	what:      "reads attendances_count, is full if it == capacity, then inserts and counts; no lock",
	lacks:     "NO OVERSELLING, ",
	oversells: true,
	ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
		r, err := db.read(ctx, run)
		if err != nil {
			return "", err
		}
		if r.count == r.capacity {
			return full, db.recordIf(ctx, recording, run, p, full)
		}
		batch := &pgx.Batch{} // one transaction, since nothing in it says otherwise
		queueSeat(batch, recording, run, p)
		return seated, db.SendBatch(ctx, batch).Close()
	},
}
