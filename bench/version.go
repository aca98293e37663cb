package bench

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// saveRun is optimistic locking: it saves what was computed from the row as it
// was read, if the row is still that.
const saveRun = `
UPDATE scheduled_runs SET attendances_count = $1, lock_version = lock_version + 1
WHERE id = 1 AND lock_version = $2`

// version reads the run, counts, and saves the count if nobody saved in between;
// else it begins again. One of all who read the same version wins.
var version = rival{
	name:   "version column",
	schema: "demo_version",
	what:   "saves the run only if lock_version is what it read, and begins again if not",
	ask: func(ctx context.Context, conn *pgx.Conn, user int) (bool, int, error) {
		return untilFresh(func() (bool, error) {
			r, err := find(ctx, conn, "")
			if err != nil || r.attendancesCount >= r.capacity {
				return false, err
			}
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, saveRun, r.attendancesCount+1, r.lockVersion)
				if err != nil {
					return err
				}
				if tag.RowsAffected() == 0 {
					return errStale
				}
				_, err = tx.Exec(ctx, insertAttendance, user)
				return err
			})
			return err == nil, err
		})
	},
}

// errStale says that somebody else has saved the run since it was read.
var errStale = errors.New("the run has changed since it was read")

// untilFresh tries until the error is another one than errStale, and returns how
// often it tried again. It does not pause in between: random pauses of up to 5,
// 20 and 50 ms changed neither the time nor the retries, since who loses has
// waited for the winner's commit anyway.
func untilFresh(try func() (bool, error)) (seated bool, retries int, err error) {
	for {
		seated, err = try()
		if !errors.Is(err, errStale) {
			return seated, retries, err
		}
		retries++
	}
}
