package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lastseat/lastseat/internal/enroll"
)

// What is changed below is found by its ctid, which cannot move: the runs' locks
// are held, and nobody else writes these rows. The ctid was read before, or is
// looked up row by row. Joined to its table by its key, a row would be found by
// whatever plan suited the table's size when the plan was made (db.go).
//
// The statements below count the rows they write and divide by zero when there
// are not as many as belong. That can only happen if a lock did not do what this
// file believes it does, and then the commit, which travels in the same batch,
// must not happen.

// givePlaces gives seats, or places on waiting lists ($6), to the people with
// the tickets $1, $2. People who are no users yet ($3 = 0) become users, as the
// request at $4 has it; the address $5 joins the two. Users are made in one statement sorted
// by key: anything else deadlocks between two settlers that seat the same people.
// A user that another transaction has made a moment ago is not in this statement's
// snapshot, so it is updated, which returns it.
const givePlaces = `
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::tid[], $5::text[], $6::boolean[]) AS g (run_id, ticket, user_id, at, email_key, on_list)
), newcomers AS (
    INSERT INTO users (email_key, email, name)
    SELECT DISTINCT ON (q.email_key) q.email_key, q.email, q.name
    FROM given g JOIN requests q ON q.ctid = g.at
    WHERE g.user_id = 0
    ORDER BY q.email_key, g.run_id, g.ticket
    ON CONFLICT (email_key) DO UPDATE SET email_key = excluded.email_key
    RETURNING id, email_key
), placed AS MATERIALIZED (
    SELECT g.run_id, g.ticket, g.on_list, CASE g.user_id WHEN 0 THEN n.id ELSE g.user_id END AS user_id
    FROM given g LEFT JOIN newcomers n ON n.email_key = g.email_key
), seated AS (
    INSERT INTO attendances (run_id, user_id, ticket) SELECT run_id, user_id, ticket FROM placed WHERE NOT on_list RETURNING 1
), listed AS (
    INSERT INTO waiting (run_id, user_id, ticket) SELECT run_id, user_id, ticket FROM placed WHERE on_list RETURNING 1
)
SELECT 1 / ((SELECT count(*) FROM seated) + (SELECT count(*) FROM listed) = cardinality($1))::integer`

const (
	unseat  = `WITH written AS (DELETE FROM attendances p USING ` + revoked + `attendances` + atPlaces + `) ` + allWritten
	unlist  = `WITH written AS (DELETE FROM waiting p USING ` + revoked + `waiting` + atPlaces + `) ` + allWritten
	revoked = `
unnest($1::integer[], $2::bigint[]) AS lost (run_id, ticket)
CROSS JOIN LATERAL (SELECT o.ctid AS at FROM `
	atPlaces = ` o WHERE o.run_id = lost.run_id AND o.ticket = lost.ticket LIMIT 1) o
WHERE p.ctid = o.at
RETURNING 1`
	allWritten = `SELECT 1 / (count(*) = cardinality($1))::integer FROM written`
)

// decide writes the outcomes of the requests $1, $2, which are at $3, and moves the
// lines of the runs $7 on, from the ticket $8. One statement for all runs of the
// transaction: one for each costs as much as settling three requests. A clock that
// was set back must not undo the order of the two instants.
const decide = `
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), decided AS (
    UPDATE requests q
    SET status = d.status, reason = nullif(d.reason, ''), decided_at = greatest(clock.now, q.accepted_at),
        changed_at = CASE WHEN d.changed THEN greatest(clock.now, q.accepted_at) END
    FROM clock, unnest($1::integer[], $2::bigint[], $3::tid[], $4::text[], $5::text[], $6::boolean[]) AS d (run_id, ticket, at, status, reason, changed)
    WHERE q.ctid = d.at AND q.status = 'queued'
    RETURNING q.run_id = d.run_id AND q.ticket = d.ticket AS it
), advanced AS (
    UPDATE runs r
    SET settled_ticket = a.settled_ticket, attendances_count = a.taken, waiting_count = a.waiting,
        capacity = a.capacity, waitlist_capacity = a.waitlist_capacity, waitlist_ended = a.waitlist_ended, called_off = a.called_off
    FROM unnest($7::integer[], $8::bigint[], $9::bigint[], $10::integer[], $11::integer[], $12::integer[], $13::integer[], $14::boolean[], $15::boolean[])
        AS a (run_id, before, settled_ticket, taken, waiting, capacity, waitlist_capacity, waitlist_ended, called_off)
    CROSS JOIN LATERAL (SELECT o.ctid AS at FROM runs o WHERE o.id = a.run_id LIMIT 1) o
    WHERE r.ctid = o.at AND r.settled_ticket = a.before
    RETURNING 1
)
SELECT 1 / ((SELECT count(*) FROM decided WHERE it) = coalesce(cardinality($1), 0) AND (SELECT count(*) FROM advanced) = cardinality($7))::integer`

// change writes what became of registrations that were decided before.
const change = `
WITH written AS (
    UPDATE requests q
    SET status = c.status, reason = nullif(c.reason, ''), changed_at = greatest(clock_timestamp(), q.decided_at)
    FROM unnest($1::integer[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS c (run_id, ticket, before, status, reason)
    CROSS JOIN LATERAL (SELECT o.ctid AS at FROM requests o WHERE o.run_id = c.run_id AND o.ticket = c.ticket LIMIT 1) o
    WHERE q.ctid = o.at AND q.status = c.before
    RETURNING 1
) ` + allWritten

// writing collects what a settling transaction writes, as columns of types that
// the driver encodes without reflection.
type writing struct {
	batch                     *pgx.Batch
	decided                   outcomes
	advanced                  countColumns
	given                     grants        // seats, and places on a waiting list, that were given …
	unseated, unlisted        ticketColumns // … and taken away
	changed                   ticketColumns
	before, statuses, reasons []string // of changed
	told                      ticketColumns
	mails                     []string      // of told: their kinds …
	mailIDs                   [][16]byte    // … and ids
	full                      ticketColumns // people to tell that there is no seat, unless the address was
	again                     ticketColumns // people to tell that their address was used again
}

// add adds a run's settlement.
func (w *writing) add(run *lockedRun, s enroll.Settlement) {
	for i, o := range s.Outcomes { // of the first requests, in their order
		w.decided.add(run.id, run.people[i].at, o)
		w.move(run, o)
	}
	w.advanced.add(run, s)
	for _, o := range s.Changed {
		w.changed.add(run.id, o.Ticket)
		w.before, w.statuses, w.reasons = append(w.before, string(o.Before)), append(w.statuses, string(o.Status)), append(w.reasons, string(o.Reason))
		w.move(run, o)
	}
	for _, n := range s.Notices {
		switch n.Mail {
		case enroll.MailAlreadyRegistered:
			w.again.add(run.id, n.Ticket)
		case enroll.MailFull:
			w.full.add(run.id, n.Ticket)
		default:
			w.told.add(run.id, n.Ticket)
			w.mails, w.mailIDs = append(w.mails, string(n.Mail)), append(w.mailIDs, uuid.Must(uuid.NewV7()))
		}
	}
}

// move notes the seat or the place that a registration has got or lost.
func (w *writing) move(run *lockedRun, o enroll.Outcome) {
	if o.Before == o.Status {
		return
	}
	switch o.Before {
	case enroll.Confirmed:
		w.unseated.add(run.id, o.Ticket)
	case enroll.Waitlisted:
		w.unlisted.add(run.id, o.Ticket)
	default: // it had nothing
	}
	switch o.Status {
	case enroll.Confirmed, enroll.Waitlisted:
		w.given.add(run, o)
	default: // it has nothing
	}
}

// finish queues what concerns all runs, in an order in which nobody has two
// seats: given up, then given. What changes requests comes last, since it moves
// what the other statements find.
func (w *writing) finish() {
	queue := func(sql string, p ticketColumns, more ...any) {
		if len(p.runs) > 0 {
			w.batch.Queue(sql, append([]any{p.runs, p.tickets}, more...)...)
		}
	}
	queue(unseat, w.unseated)
	queue(unlist, w.unlisted)
	queue(givePlaces, w.given.ticketColumns, w.given.users, w.given.at, w.given.keys, w.given.onList)
	if a := w.advanced; len(a.runs) > 0 {
		d := w.decided
		w.batch.Queue(decide, d.runs, d.tickets, d.at, d.statuses, d.reasons, d.changed,
			a.runs, a.before, a.settled, a.taken, a.waiting, a.capacity, a.waitlistCapacity, a.waitlistEnded, a.calledOff)
	}
	queue(change, w.changed, w.before, w.statuses, w.reasons)
	queue(insertMails, w.told, w.mails, w.mailIDs)
	queue(tellFull, w.full, againAfter, enroll.MailFull)
	queue(tellAgain, w.again, againAfter, enroll.MailAlreadyRegistered)
	w.batch.Queue("commit")
}

// ticketColumns are tickets of several lines, as two columns.
type ticketColumns struct {
	runs    []int32
	tickets []int64
}

func (p *ticketColumns) add(run enroll.RunID, ticket int64) {
	p.runs, p.tickets = append(p.runs, int32(run)), append(p.tickets, ticket)
}

// grants are the seats and the places on waiting lists that people are given, as
// columns. A person who is no user yet has user 0, and becomes a user as the request
// at the ctid says.
type grants struct {
	ticketColumns
	users  []int64
	at     tids     // NULL for those who come from a waiting list: they are users
	keys   []string // empty for them
	onList []bool   // it is a place on a list
}

func (g *grants) add(run *lockedRun, o enroll.Outcome) {
	who := run.who(o.Ticket)
	g.ticketColumns.add(run.id, o.Ticket)
	g.users, g.at = append(g.users, who.user), append(g.at, who.at)
	g.keys, g.onList = append(g.keys, string(who.key)), append(g.onList, o.Status == enroll.Waitlisted)
}

// tids are where rows are. The driver would encode a plain slice by reflection.
type tids = pgtype.FlatArray[pgtype.TID]

// outcomes are what was decided, as columns.
type outcomes struct {
	ticketColumns
	at       tids
	statuses []string
	reasons  []string
	changed  []bool
}

func (c *outcomes) add(run enroll.RunID, at pgtype.TID, o enroll.Outcome) {
	c.ticketColumns.add(run, o.Ticket)
	c.at = append(c.at, at)
	c.statuses, c.reasons, c.changed = append(c.statuses, string(o.Status)), append(c.reasons, string(o.Reason)), append(c.changed, o.Changed)
}

// countColumns are the new counts of runs, as columns.
type countColumns struct {
	runs                       []int32
	before, settled            []int64 // settled_ticket
	taken, waiting             []int
	capacity, waitlistCapacity []*int
	waitlistEnded, calledOff   []bool
}

func (c *countColumns) add(run *lockedRun, s enroll.Settlement) {
	after := s.Counts
	c.runs = append(c.runs, int32(run.id))
	c.before, c.settled = append(c.before, run.settled), append(c.settled, run.settled+int64(len(s.Outcomes)))
	c.taken, c.waiting = append(c.taken, after.Taken), append(c.waiting, after.Waiting)
	c.capacity, c.waitlistCapacity = append(c.capacity, after.Capacity), append(c.waitlistCapacity, after.WaitlistCapacity)
	c.waitlistEnded, c.calledOff = append(c.waitlistEnded, after.WaitlistEnded), append(c.calledOff, after.CalledOff)
}
