package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
)

// laneHolders finds the sessions that hold lane locks, and for how long each has
// done nothing, as far as that is visible.
const laneHolders = `
SELECT objid::bigint, l.pid, coalesce(clock_timestamp() - a.state_change, interval '0')
FROM pg_locks l
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE locktype = 'advisory' AND granted AND classid::bigint = $1 AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// serverToCheck reads how the server keeps what is committed. Without the right
// pg_read_all_stats it says who receives the log, but nothing of them. Backups
// and logical receivers are no standbys.
const serverToCheck = `
SELECT count(*) FILTER (WHERE p.state <> 'backup'), count(*) FILTER (WHERE p.pid IS NOT NULL AND p.state IS NULL),
       current_setting('synchronous_standby_names'), current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
       current_setting('synchronous_commit'), current_setting('transaction_read_only')::boolean
FROM (SELECT) one
LEFT JOIN pg_stat_replication p ON NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = p.pid AND s.slot_type = 'logical')`

// Trouble returns what does not get on, and why, as far as the server shows it.
func (s *Store) Trouble(ctx context.Context) (doctor.Trouble, error) {
	t := doctor.Trouble{Lanes: make(map[enroll.RunID]int), SilentLanes: make(map[int]time.Duration)}
	var err error
	if t.Backlogs, err = s.Backlogs(ctx, nil, doctor.Patience); err != nil {
		return t, err
	}
	if t.Holders, err = s.Holders(ctx, nil); err != nil {
		return t, err
	}
	lanes, err := collect(ctx, s, "looking for lanes", pgx.RowToStructByPos[struct {
		Run    enroll.RunID
		PID    int
		Silent time.Duration
	}], laneHolders, laneLocks)
	if err != nil {
		return t, err
	}
	for _, l := range lanes {
		t.Lanes[l.Run] = l.PID
		if l.Silent >= doctor.Patience {
			t.SilentLanes[l.PID] = l.Silent
		}
	}
	if t.Mails, err = s.MailBacklog(ctx); err != nil {
		return t, err
	}
	err = s.pool.QueryRow(ctx, serverToCheck).Scan(&t.Server.Standbys, &t.Server.Unseen, &t.Server.SyncStandbyNames,
		&t.Server.Fsync, &t.Server.FullPageWrites, &t.Server.SynchronousCommit, &t.Server.ReadOnly)
	if err != nil {
		return t, translate("looking at the server", err)
	}
	return t, nil
}
