package bench

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// touchRun is what a touch becomes under optimistic locking.
const touchRun = `
UPDATE scheduled_runs SET updated_at = now(), lock_version = lock_version + 1
WHERE id = 1 AND lock_version = $1`

// touch is the accepted answer, in one transaction: a counter cache counts past
// the version column without looking at it, so touch the run, which does look,
// and then create the attendance as before.
var touch = rival{
	name:   "touch and retry",
	schema: "demo_touch",
	what:   "touches the run, checking lock_version, in the attendance's transaction; begins again on conflict",
	ask: func(ctx context.Context, conn *pgx.Conn, user int) (bool, int, error) {
		return untilFresh(func() (bool, error) {
			r, err := find(ctx, conn, "")
			if err != nil || r.attendancesCount >= r.capacity {
				return false, err
			}
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, touchRun, r.lockVersion)
				if err != nil {
					return err
				}
				if tag.RowsAffected() == 0 {
					return errStale
				}
				return attend(ctx, tx, user)
			})
			return err == nil, err
		})
	},
}
