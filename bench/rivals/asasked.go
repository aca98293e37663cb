package rivals

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// asAsked is the code of the question, which looks whether the run is full by ==.
// asAskedGE is the same with >=.
var (
	asAsked = lookAndTake("as_asked", "reads attendances_count, is full if it == capacity, then inserts and counts; no lock",
		func(r state) bool { return r.count == r.capacity })
	asAskedGE = lookAndTake("as_asked_ge", "reads attendances_count, is full if it >= capacity, then inserts and counts; no lock",
		func(r state) bool { return r.count >= r.capacity })
)

// lookAndTake looks whether the run is full and then takes a seat. Between the two,
// all others look as well: the counter is right all the time, it is only read too
// early. What a counter cache makes of taking a seat, the row and one more in the
// counter, is one transaction in one round trip.
func lookAndTake(name, what string, isFull func(state) bool) answer {
	return answer{
		name: name, what: what, lacks: "NO OVERSELLING, ", oversells: true,
		ask: func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error) {
			r, err := db.read(ctx, run)
			if err != nil {
				return "", err
			}
			if isFull(r) {
				return full, db.recordIf(ctx, recording, run, p, full)
			}
			batch := &pgx.Batch{} // one transaction, since it has no other statement for them
			queueSeat(batch, recording, run, p)
			return seated, db.SendBatch(ctx, batch).Close()
		},
	}
}
