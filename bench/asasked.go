package bench

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// asAsked is the code of the question: look whether the run is full, then take a
// seat. Between the two, everybody else looks as well. The counter is right all
// the time; it is only read too early.
func asAsked(name, schema, what string, full func(run) bool) rival {
	return rival{name: name, schema: schema, what: what,
		ask: func(ctx context.Context, conn *pgx.Conn, user int) (bool, int, error) {
			r, err := find(ctx, conn, "")
			if err != nil || full(r) {
				return false, 0, err
			}
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return attend(ctx, tx, user) })
			return err == nil, 0, err
		},
	}
}
