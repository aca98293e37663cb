package doctor

import (
	"fmt"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Run is a run's row with the head of its line, and the numbers of its seats
// and places.
type Run struct {
	ID             enroll.RunID
	Slug           string
	Counts         enroll.RunCounts // as the row has it
	FirstCounts    enroll.RunCounts // the capacities that the line began with; the rest is not used
	Settled        int64            // settled_ticket
	HasLine        bool
	Last           int64         // last_ticket
	LastAcceptedAt time.Time     // zero = no request was accepted
	Seats, Places  int           // rows in attendances and in waiting
	ListOverdue    time.Duration // how long ago the waiting list should have ended; 0 = it has ended, or need not
	Location       string
	TimeZone       string
	Course         enroll.Course
}

// Entry is a request of the line with its outcome, and what it holds.
type Entry struct {
	enroll.Request // as it was accepted; the replay fills in Holder and TargetStatus
	Status         enroll.Status
	Reason         enroll.Reason
	AcceptedAt     time.Time
	CorrectedAfter int64 // up to this ticket, the registration had another address; 0 = its address was never corrected
	Seat, Place    bool  // whether it has a row in attendances, in waiting
	Other          bool  // whether that row belongs to another address
	Both           bool  // whether the user with the seat also has a place in the run
}

// listGrace is how late a waiting list may end by itself: a worker has to
// notice, and the line has to be settled up to there.
const listGrace = 5 * time.Minute

// Checkup checks one run. It is given the run's line entry by entry, all from
// one snapshot. However long the line is, it remembers only the people with
// seats and places.
type Checkup struct {
	findings
	run           Run
	replay        *replay
	next          int64 // the ticket that belongs next
	broken        bool  // tickets are missing: the rest cannot be settled again
	accepted      time.Time
	seats, places int // seen
}

// NewCheckup begins the check of a run.
func NewCheckup(r Run) *Checkup {
	c := &Checkup{findings: findings{run: r.Slug}, run: r, next: 1}
	c.replay = newReplay(r.FirstCounts, func(ticket int64, got, want outcome) {
		c.add(OutcomeDiffer, ticket, "ticket %d is %s, but settling the line again makes it %s", ticket, got, want)
	})
	return c
}

// Next checks the next entry. Entries come in ticket order.
func (c *Checkup) Next(e Entry) {
	if e.Ticket != c.next {
		c.hole(c.next, e.Ticket-1)
	}
	c.next = e.Ticket + 1
	if e.AcceptedAt.Before(c.accepted) {
		c.add(AcceptedAt, e.Ticket, "ticket %d was accepted earlier than the ticket before it", e.Ticket)
	}
	c.accepted = e.AcceptedAt
	c.holds(e)

	settled := e.Ticket <= c.run.Settled
	switch {
	case settled && e.Status == enroll.Queued:
		c.add(Undecided, e.Ticket, "ticket %d is not decided, but the line is settled up to %d", e.Ticket, c.run.Settled)
	case !settled && e.Status != enroll.Queued:
		c.add(DecidedEarly, e.Ticket, "ticket %d is %s, but the line is settled only up to %d", e.Ticket, e.Status, c.run.Settled)
	}
	switch {
	case c.broken:
	case settled:
		c.replay.settle(e)
	case e.Ticket == c.run.Settled+1:
		c.replay.begin(e, c.run)
	}
}

func (c *Checkup) hole(from, to int64) {
	missing := fmt.Sprintf("ticket %d is", from)
	if from < to {
		missing = fmt.Sprintf("tickets %d to %d are", from, to)
	}
	c.add(Hole, from, "%s missing from the line, so the tickets after the hole cannot be settled again", missing).blocks = from > c.run.Settled
	c.broken = true
}

// holds checks that the entry has the seat or the place that its status says.
func (c *Checkup) holds(e Entry) {
	if e.Seat {
		c.seats++
	}
	if e.Place {
		c.places++
	}
	switch confirmed := e.Status == enroll.Confirmed; {
	case confirmed && !e.Seat:
		c.add(SeatMissing, e.Ticket, "ticket %d is confirmed but has no seat", e.Ticket)
	case !confirmed && e.Seat:
		c.add(SeatUnearned, e.Ticket, "ticket %d is %s but has a seat", e.Ticket, e.Status)
	}
	switch waitlisted := e.Status == enroll.Waitlisted; {
	case waitlisted && !e.Place:
		c.add(PlaceMissing, e.Ticket, "ticket %d is waitlisted but has no place on the waiting list", e.Ticket)
	case !waitlisted && e.Place:
		c.add(PlaceUnearned, e.Ticket, "ticket %d is %s but has a place on the waiting list", e.Ticket, e.Status)
	}
	if e.Other {
		c.add(OtherAddress, e.Ticket, "the seat or place of ticket %d belongs to another address", e.Ticket)
	}
	if e.Both {
		c.add(SeatAndPlace, e.Ticket, "the person with the seat of ticket %d also has a place on the waiting list", e.Ticket)
	}
}

// End returns the findings. It is called after the last entry.
func (c *Checkup) End() []Finding {
	if !c.broken {
		c.replay.end()
		c.counts()
	}
	c.line()
	c.counters()
	c.values()
	return c.all()
}

// counts compares the run's row with the capacities and flags that its line
// leads to. counters compares the counters.
func (c *Checkup) counts() {
	is, comes := c.run.Counts, c.replay.counts
	const outside = "it was changed outside the line"
	for _, l := range []struct {
		code      Code
		is, comes *int
	}{{Capacity, is.Capacity, comes.Capacity}, {WaitlistCapacity, is.WaitlistCapacity, comes.WaitlistCapacity}} {
		if limit(l.is) != limit(l.comes) {
			c.add(l.code, 0, "%s is %s, but the line makes it %s: %s", l.code, limit(l.is), limit(l.comes), outside)
		}
	}
	for _, f := range []struct {
		code      Code
		is, comes bool
	}{{WaitlistEnded, is.WaitlistEnded, comes.WaitlistEnded}, {CalledOff, is.CalledOff, comes.CalledOff}} {
		if f.is != f.comes {
			c.add(f.code, 0, "%s is %t, but the line makes it %t: %s", f.code, f.is, f.comes, outside)
		}
	}
}

// line checks the head of the line.
func (c *Checkup) line() {
	end, r := c.next-1, c.run
	switch {
	case !r.HasLine:
		c.add(NoLine, 0, "it has no line, so nobody can ask for a seat")
		return
	case r.Last < end:
		c.add(LastTicket, 0, "last_ticket is %d, but the line goes on to %d, so nobody can ask for a seat", r.Last, end).Repairable = true
	case r.Last > end:
		c.add(LastTicket, 0, "last_ticket is %d, but the line ends with %d: requests are lost", r.Last, end)
	}
	if r.LastAcceptedAt.Before(c.accepted) {
		c.add(LastAcceptedAt, 0, "last_accepted_at is earlier than the last request").Repairable = true
	}
	if r.Settled > max(r.Last, end) {
		c.add(SettledTicket, 0, "settled_ticket is %d, but the line ends with %d", r.Settled, max(r.Last, end))
	}
}

// counters compares the counters with the rows. A wrong counter can be repaired
// only if its rows are the right ones.
func (c *Checkup) counters() {
	if lost := c.run.Seats - c.seats; lost > 0 {
		c.add(SeatUnearned, 0, "%s a seat with a ticket that is not in the line", people(lost))
	}
	if lost := c.run.Places - c.places; lost > 0 {
		c.add(PlaceUnearned, 0, "%s a place on the waiting list with a ticket that is not in the line", people(lost))
	}
	if is, rows := c.run.Counts.Taken, c.run.Seats; is != rows {
		c.add(AttendancesCount, 0, "attendances_count is %d, but %s a seat", is, people(rows)).Repairable =
			c.count[SeatMissing]+c.count[SeatUnearned] == 0
	}
	if is, rows := c.run.Counts.Waiting, c.run.Places; is != rows {
		c.add(WaitingCount, 0, "waiting_count is %d, but %s a place on the waiting list", is, people(rows)).Repairable =
			c.count[PlaceMissing]+c.count[PlaceUnearned] == 0
	}
	if overdue := c.run.ListOverdue; overdue >= listGrace {
		c.add(WaitlistOverdue, 0, "its waiting list should have ended %s ago", overdue.Round(time.Second))
	}
}

// people returns the beginning of a clause: "1 person has", "2 people have".
func people(n int) string {
	if n == 1 {
		return "1 person has"
	}
	return fmt.Sprintf("%d people have", n)
}
