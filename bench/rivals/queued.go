package rivals

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// job is a request on its way through a queue.
type job struct {
	ID       uuid.UUID `json:"id"`
	Run      int32     `json:"run"`
	Name     string    `json:"name"`
	Email    string    `json:"email"`
	EmailKey string    `json:"email_key"`
	Accepted time.Time `json:"accepted"`
}

func newJob(run int32, p person) job {
	return job{ID: p.id, Run: run, Name: p.name, Email: p.email, EmailKey: p.key, Accepted: time.Now()}
}

// decideJob is the guarded UPDATE that records. Jobs are decided one at a time, so
// no transaction needs to be longer than a statement.
const decideJob = `
WITH seat AS (
    UPDATE runs SET attendances_count = attendances_count + 1
    WHERE id = $1 AND attendances_count < capacity
    RETURNING id
), attendance AS (
    INSERT INTO attendances (run_id, email_key, email, name) SELECT id, $2, $3, $4 FROM seat
    RETURNING 1
)
INSERT INTO requests (run_id, email_key, email, name, id, accepted_at, outcome, decided_at)
SELECT $1, $2, $3, $4, $5, $6, CASE WHEN EXISTS (SELECT FROM attendance) THEN 'confirmed' ELSE 'full' END, clock_timestamp()`

// refuseJob refuses a job whose address has a seat already. If the seat is this
// job's own, since a queue may hand out a job twice, it changes nothing.
const refuseJob = `
INSERT INTO requests (run_id, email_key, email, name, id, accepted_at, outcome, decided_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
ON CONFLICT (id) DO NOTHING`

// decide decides a request, even if it comes twice.
func (d *db) decide(ctx context.Context, j job) error {
	args := []any{j.Run, j.EmailKey, j.Email, j.Name, j.ID, j.Accepted}
	_, err := d.Exec(ctx, decideJob, args...)
	if isTaken(err) {
		_, err = d.Exec(ctx, refuseJob, append(args, already)...)
	}
	return err
}
