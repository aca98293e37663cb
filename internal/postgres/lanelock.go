package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// laneLocks is the first key of the advisory locks that own lanes; the run's id
// is the second. The number spells "lane".
const laneLocks = 0x6c616e65

// lockURL is the setting whose connection has to be direct.
const lockURL = "postgres.lock_url"

// LaneLocks is one direct connection that holds session-level advisory locks:
// who holds a run's lock owns the run's lane. The locks end with the session,
// and the session ends with the process, or a few seconds after the process
// stopped pinging it. It is not safe for concurrent use.
type LaneLocks struct {
	conn *pgx.Conn
}

// ConnectLaneLocks opens the connection, which must not go through a
// transaction pooler: two sessions would share one lock. Then the error has code
// Internal. If the server hears
// nothing on it for idle, it ends the session (idle_session_timeout, for a
// client that is frozen or cut off but whose connection still stands).
func ConnectLaneLocks(ctx context.Context, url string, o Options, idle time.Duration) (*LaneLocks, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connecting for lane locks: %w", errURL)
	}
	configure(c, o)
	c.RuntimeParams["idle_session_timeout"] = fmt.Sprint(idle.Milliseconds())
	conn, err := pgx.ConnectConfig(ctx, c)
	if refusedByPooler(err) {
		return nil, notDirect(lockURL, "lane locks", err)
	} else if err != nil {
		return nil, translate("connecting for lane locks", err)
	}
	l := &LaneLocks{conn: conn}
	if err := requireDirect(ctx, conn, lockURL, "lane locks"); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// TryLock takes the locks of those runs that nobody else holds, and returns these
// runs. Taking a lock that is held already counts: it is held until it was
// unlocked as often.
func (l *LaneLocks) TryLock(ctx context.Context, runs ...enroll.RunID) ([]enroll.RunID, error) {
	rows, _ := l.conn.Query(ctx, `SELECT run FROM unnest($1::integer[]) run WHERE pg_try_advisory_lock($2, run)`, runs, int32(laneLocks))
	got, err := pgx.CollectRows(rows, pgx.RowTo[enroll.RunID])
	if err != nil {
		return nil, translate("taking lane locks", err)
	}
	return got, nil
}

// Unlock gives the runs' locks back.
func (l *LaneLocks) Unlock(ctx context.Context, runs ...enroll.RunID) error {
	rows, _ := l.conn.Query(ctx, `SELECT run FROM unnest($1::integer[]) run WHERE NOT pg_advisory_unlock($2, run)`, runs, int32(laneLocks))
	missing, err := pgx.CollectRows(rows, pgx.RowTo[enroll.RunID])
	if err != nil {
		return translate("giving lane locks back", err)
	}
	if len(missing) > 0 {
		return enroll.Errorf(enroll.Internal, "giving lane locks back: runs %v were not locked", missing)
	}
	return nil
}

// Ping tells the server that the process is alive. An error means that the locks
// are lost, or will be.
func (l *LaneLocks) Ping(ctx context.Context) error {
	if err := l.conn.Ping(ctx); err != nil {
		return translate("keeping the lane locks", err)
	}
	return nil
}

// Close ends the session, and with it all locks.
func (l *LaneLocks) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx) // the server ends the session either way
}
