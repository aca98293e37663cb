package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
)

// rowHolders finds the transactions that hold rows of runs or heads of lines.
// A row's lock stands in the row (xmax), and whether its transaction still lives
// in pg_locks; asking so takes no lock. Somebody who shares a row with others is
// not found (its xmax then names all of them), but nothing here shares one.
const rowHolders = `
SELECT held.slug, held.line, coalesce(l.pid, 0), coalesce(a.application_name, ''), coalesce(a.state, ''),
       coalesce(clock_timestamp() - a.xact_start, interval '0')
FROM (
    SELECT slug, false AS line, xmax FROM runs
    UNION ALL
    SELECT r.slug, true, l.xmax FROM lines l JOIN runs r ON r.id = l.run_id
) held
JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = held.xmax
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
ORDER BY 1, 2, 3`

// laneHolders finds the sessions that hold lane locks.
const laneHolders = `
SELECT objid::bigint, pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid::bigint = $1 AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// serverToCheck reads how the server keeps what is committed. Without the right
// pg_read_all_stats it says who receives the log, but nothing of them. Backups
// and logical receivers are no standbys.
const serverToCheck = `
SELECT count(*) FILTER (WHERE p.state <> 'backup'), count(*) FILTER (WHERE p.pid IS NOT NULL AND p.state IS NULL),
       current_setting('synchronous_standby_names'), current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
       current_setting('synchronous_commit')
FROM (SELECT) one
LEFT JOIN pg_stat_replication p ON NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = p.pid AND s.slot_type = 'logical')`

// Trouble returns what does not get on, and why, as far as the server shows it.
func (s *Store) Trouble(ctx context.Context) (doctor.Trouble, error) {
	t := doctor.Trouble{Lanes: make(map[enroll.RunID]int)}
	var err error
	if t.Backlogs, err = s.Backlogs(ctx, nil, doctor.Patience); err != nil {
		return t, err
	}
	t.Holders, err = collect(ctx, s, "looking for who holds rows", pgx.RowToStructByPos[doctor.Holder], rowHolders)
	if err != nil {
		return t, err
	}
	lanes, err := collect(ctx, s, "looking for lanes", pgx.RowToStructByPos[struct {
		Run enroll.RunID
		PID int
	}], laneHolders, laneLocks)
	if err != nil {
		return t, err
	}
	for _, l := range lanes {
		t.Lanes[l.Run] = l.PID
	}
	if t.Mails, err = s.MailBacklog(ctx); err != nil {
		return t, err
	}
	err = s.pool.QueryRow(ctx, serverToCheck).Scan(&t.Server.Standbys, &t.Server.Unseen, &t.Server.SyncStandbyNames,
		&t.Server.Fsync, &t.Server.FullPageWrites, &t.Server.SynchronousCommit)
	if err != nil {
		return t, translate("looking at the server", err)
	}
	return t, nil
}
