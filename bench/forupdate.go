package bench

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// forUpdate locks the run's row before it looks, so that looking and taking are
// one. Whoever waits for the row waits inside Postgres, holding a connection.
var forUpdate = rival{
	name:   "SELECT … FOR UPDATE",
	schema: "demo_for_update",
	what:   "locks the run's row, then looks and inserts",
	ask: func(ctx context.Context, conn *pgx.Conn, user int) (seated bool, _ int, _ error) {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			r, err := find(ctx, tx, " FOR UPDATE")
			if err != nil || r.attendancesCount >= r.capacity {
				return err
			}
			seated = true
			return attend(ctx, tx, user)
		})
		return seated && err == nil, 0, err
	},
}
