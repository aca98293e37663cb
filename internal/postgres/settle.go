package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
)

// lockRuns locks the rows of the runs to be settled, which is the fence behind
// the lanes: whatever else settles them waits for its own turn. Rows that
// another session holds are skipped, or two settlers with several runs each would
// hold up all of each other's. NO KEY: the foreign key of lines must not wait for
// it.
const lockRuns = `
SELECT id, capacity, waitlist_capacity, attendances_count, waiting_count, waitlist_ended, called_off, settled_ticket
FROM runs
WHERE id = ANY($1)
ORDER BY id
FOR NO KEY UPDATE SKIP LOCKED`

// nextRequests reads what comes next in the lines, with what settling needs to
// know of each: by which registration its address has a seat or a place, whether
// a refusal is told by mail (by request, or after $3, when nobody watches the
// status any more), and what it cancels. Writing needs to know where each is, and
// which user has the address (0 = none yet). A statement of its own, after
// lockRuns, so that its snapshot has everything the previous settler wrote. All
// lookups are bounded by a LIMIT or a unique key, which keeps them on their
// indexes: the cost depends on the number of requests and never on the size of the
// run or of a table. Seats and places are looked up as the first of the run from
// that user on, since an index by ticket, which is of no use for that, would pass
// for as good while a table is empty.
const nextRequests = `
SELECT q.run_id, q.at, coalesce(h.user_id, 0), q.ticket, q.kind, coalesce(q.email_key, ''), coalesce(h.ticket, 0), q.waitlist_limit,
       q.notify OR clock_timestamp() - q.accepted_at > $3::interval,
       coalesce(q.target, 0),
       CASE WHEN q.target IS NULL THEN '' ELSE coalesce((SELECT t.email_key FROM requests t WHERE t.run_id = q.run_id AND t.ticket = q.target), '') END,
       CASE WHEN q.target IS NULL THEN '' ELSE coalesce((SELECT t.status FROM requests t WHERE t.run_id = q.run_id AND t.ticket = q.target), '') END,
       q.late, q.by_organiser, q.change
FROM runs r
CROSS JOIN LATERAL (
    SELECT q.ctid AS at, q.* FROM requests q
    WHERE q.run_id = r.id AND q.ticket > r.settled_ticket
    ORDER BY q.ticket LIMIT $2
) q
LEFT JOIN LATERAL (
    SELECT u.id AS user_id, coalesce(
        (SELECT ticket FROM (
            SELECT a.user_id, a.ticket FROM attendances a WHERE a.run_id = q.run_id AND a.user_id >= u.id ORDER BY a.user_id LIMIT 1
        ) a WHERE a.user_id = u.id),
        (SELECT ticket FROM (
            SELECT w.user_id, w.ticket FROM waiting w WHERE w.run_id = q.run_id AND w.user_id >= u.id ORDER BY w.user_id LIMIT 1
        ) w WHERE w.user_id = u.id)
    ) AS ticket
    FROM users u WHERE u.email_key = q.email_key LIMIT 1
) h ON true
WHERE r.id = ANY($1)
ORDER BY q.run_id, q.ticket`

// firstPlaces reads the people that settling may move: the first on the waiting
// list of each run that has anything but a registration among its next requests,
// and the first with seats in a run that is called off next.
const firstPlaces = `
SELECT r.id, p.seated, p.user_id, p.ticket, q.email_key
FROM runs r
CROSS JOIN LATERAL (
    SELECT FROM requests o
    WHERE o.run_id = r.id AND o.kind <> 'register' AND o.ticket > r.settled_ticket AND o.ticket <= r.settled_ticket + $2
    LIMIT 1
) others
CROSS JOIN LATERAL (
    (SELECT false AS seated, w.user_id, w.ticket FROM waiting w WHERE w.run_id = r.id AND r.waiting_count > 0 ORDER BY w.ticket LIMIT $2)
    UNION ALL
    (SELECT true, a.user_id, a.ticket FROM attendances a WHERE a.run_id = r.id AND EXISTS (
        SELECT FROM requests o WHERE o.run_id = r.id AND o.kind = 'call_off' AND o.ticket = r.settled_ticket + 1
    ) ORDER BY a.ticket LIMIT $2)
) p
CROSS JOIN LATERAL (SELECT q.email_key FROM requests q WHERE q.run_id = r.id AND q.ticket = p.ticket LIMIT 1) q
WHERE r.id = ANY($1)
ORDER BY r.id, p.ticket`

// Settle decides the next requests of the runs' lines, at most limits.Budget in
// all, in one transaction of two round trips, and writes the mails that tell of
// it. It returns the progress of each run that it could lock; a run that is
// missing is being settled by another worker at this instant.
//
// Settling is safe to repeat, to interrupt and to do twice at once: it starts
// from the settled ticket that it reads under the run's lock. After an error
// nothing is known about the outcome; settle again to find out.
func (s *Store) Settle(ctx context.Context, runs []enroll.RunID, limits enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error) {
	const doing = "settling"
	if len(runs) == 0 {
		return map[enroll.RunID]enroll.Progress{}, nil // there is nothing to share the budget among
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, translate(doing, err)
	}
	// Released inside its transaction, a connection is closed by the pool, and
	// the server rolls back.
	defer conn.Release()

	perRun := max(limits.Budget/len(runs), 1)
	locked, err := lockNextRequests(ctx, conn, runs, perRun, limits.LateAfter)
	if err != nil {
		return nil, translate(doing, err)
	}
	w := writing{batch: &pgx.Batch{}}
	progress := make(map[enroll.RunID]enroll.Progress, len(locked))
	for _, run := range locked {
		if len(run.requests) == 0 {
			progress[run.id] = enroll.Progress{First: run.settled + 1, Last: run.settled, ChangedFrom: run.settled + 1}
			continue
		}
		settled, err := run.settle()
		if err != nil {
			return nil, err
		}
		w.add(run, settled)
		progress[run.id] = progressOf(run, settled, perRun)
	}
	w.finish()
	crashpoint.Here(crashpoint.SettleRead)
	if err := conn.SendBatch(ctx, w.batch).Close(); err != nil {
		return nil, translate(doing, err)
	}
	return progress, nil
}

// lockNextRequests begins a transaction, locks the runs and reads what comes next in
// their lines: at most perRun requests of each, and the people who may be moved.
func lockNextRequests(
	ctx context.Context, conn *conn, runs []enroll.RunID, perRun int, lateAfter time.Duration,
) (locked []*lockedRun, err error) {
	batch := &pgx.Batch{}
	batch.Queue("begin")
	byID := make(map[enroll.RunID]*lockedRun, len(runs))
	batch.Queue(lockRuns, runs).Query(func(rows pgx.Rows) (err error) {
		locked, err = pgx.CollectRows(rows, scanLockedRun)
		for _, r := range locked {
			byID[r.id] = r
		}
		return err
	})
	batch.Queue(nextRequests, runs, perRun, lateAfter).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			run, who, r, err := scanRequest(rows)
			if err != nil {
				return err
			}
			if l := byID[run]; l != nil {
				l.requests, l.people = append(l.requests, r), append(l.people, who)
			}
		}
		return rows.Err()
	})
	batch.Queue(firstPlaces, runs, perRun).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var run enroll.RunID
			var seated bool
			var user int64
			var h enroll.Holding
			if err := rows.Scan(&run, &seated, &user, &h.Ticket, &h.Key); err != nil {
				return err
			}
			switch l := byID[run]; {
			case l == nil:
			case seated:
				l.seated = append(l.seated, h)
			default:
				l.listed, l.listedUsers = append(l.listed, h), append(l.listedUsers, user)
			}
		}
		return rows.Err()
	})
	return locked, conn.SendBatch(ctx, batch).Close()
}

// settle decides the requests that were read.
func (r *lockedRun) settle() (enroll.Settlement, error) {
	for i, request := range r.requests {
		if want := r.settled + 1 + int64(i); request.Ticket != want {
			return enroll.Settlement{}, enroll.Errorf(enroll.Internal, "settling run %d: the line has a hole: ticket %d stands where %d belongs",
				r.id, request.Ticket, want)
		}
	}
	s := enroll.Settle(r.counts, r.listed, r.seated, r.requests)
	if len(s.Outcomes) == 0 && len(s.Changed) == 0 {
		return enroll.Settlement{}, enroll.Errorf(enroll.Internal,
			"settling run %d: ticket %d moves nobody, although %d seats and %d places are counted: `api doctor` says more",
			r.id, r.settled+1, r.counts.Taken, r.counts.Waiting)
	}
	return s, nil
}

// progressOf says how far the run has come. What was not settled of what was
// read is settled next.
func progressOf(run *lockedRun, s enroll.Settlement, perRun int) enroll.Progress {
	p := enroll.Progress{
		First: run.settled + 1, Last: run.settled + int64(len(s.Outcomes)),
		More: len(run.requests) == perRun || len(s.Outcomes) < len(run.requests),
	}
	p.ChangedFrom = p.First
	for _, r := range run.requests[:len(s.Outcomes)] {
		if r.Kind == enroll.Cancel { // its target may be asked about, even if nothing became of it
			p.ChangedFrom = min(p.ChangedFrom, r.Target.Ticket)
		}
	}
	for _, o := range s.Changed {
		p.ChangedFrom = min(p.ChangedFrom, o.Ticket)
	}
	return p
}

// lockedRun is a run whose row is locked, and what is next in its line.
type lockedRun struct {
	id             enroll.RunID
	counts         enroll.RunCounts
	settled        int64
	requests       []enroll.Request
	people         []person // of requests
	listed, seated []enroll.Holding
	listedUsers    []int64 // of listed
}

// person is who stands behind a request, as far as writing needs to know.
type person struct {
	at   pgtype.TID // the request's row
	user int64      // 0 = none has the address yet
	key  enroll.AddressKey
}

// who returns the person behind a ticket that is given a seat or a place: of one
// of the requests, or of a person who waited for it.
func (r *lockedRun) who(ticket int64) person {
	if i := ticket - r.settled - 1; i >= 0 && i < int64(len(r.people)) {
		return r.people[i]
	}
	i, waited := slices.BinarySearchFunc(r.listed, ticket, func(h enroll.Holding, t int64) int { return cmp.Compare(h.Ticket, t) })
	if !waited {
		return person{} // no user and no request to make one of: a seat without a user is refused
	}
	return person{user: r.listedUsers[i]}
}

func scanLockedRun(row pgx.CollectableRow) (*lockedRun, error) {
	r := new(lockedRun)
	s := &r.counts
	err := row.Scan(&r.id, &s.Capacity, &s.WaitlistCapacity, &s.Taken, &s.Waiting, &s.WaitlistEnded, &s.CalledOff, &r.settled)
	return r, err
}

func scanRequest(rows pgx.Rows) (run enroll.RunID, who person, r enroll.Request, err error) {
	var change []byte
	if err := rows.Scan(&run, &who.at, &who.user, &r.Ticket, &r.Kind, &r.Key, &r.Holder, &r.WaitlistLimit, &r.Notify,
		&r.Target.Ticket, &r.Target.Key, &r.TargetStatus, &r.Late, &r.ByOrganiser, &change); err != nil {
		return 0, who, r, err
	}
	if change != nil {
		r.Change, err = parseChange(change)
	}
	who.key = r.Key
	return run, who, r, err
}
