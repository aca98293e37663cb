package doctor

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/lastseat/lastseat/internal/enroll"
)

// outcome is a request's status with its reason.
type outcome struct {
	status enroll.Status
	reason enroll.Reason
}

func (o outcome) String() string {
	if o.reason != "" {
		return fmt.Sprintf("%s (%s)", o.status, o.reason)
	}
	return string(o.status)
}

// replay settles a line again from its beginning, one request at a time.
// Outcomes do not depend on how a line is cut, so the simplest cut will do. It
// compares a registration once nothing more can happen to it, and so remembers
// only the registrations with a seat or a place.
//
// It cannot check everything. Up to a correction, the corrected registration
// had an address that is no longer known; the replay gives it an address like
// no other. A request of that time that was rejected as already_registered is
// believed.
type replay struct {
	counts      enroll.RunCounts
	held        map[int64]*held             // the registrations with a seat or a place, by ticket
	holder      map[enroll.AddressKey]int64 // their tickets, by address
	waiting     []int64                     // the waiting list in ticket order, with some tickets that have left it
	corrections []correction                // still to come
	differ      func(ticket int64, got, want outcome)
}

// held is a registration with a seat or a place.
type held struct {
	key    enroll.AddressKey
	status enroll.Status
	stored outcome // its outcome in the ledger
}

// correction is the address that a registration has after the ticket "after".
type correction struct {
	ticket, after int64
	key           enroll.AddressKey
}

func newReplay(first enroll.RunCounts, differ func(ticket int64, got, want outcome)) *replay {
	return &replay{
		counts: enroll.RunCounts{Capacity: first.Capacity, WaitlistCapacity: first.WaitlistCapacity},
		held:   make(map[int64]*held), holder: make(map[enroll.AddressKey]int64), differ: differ,
	}
}

// atOnce is how many people of a waiting list move in one call of Settle.
const atOnce = 1000

// settle settles the next entry.
func (r *replay) settle(e Entry) {
	r.correct(e.Ticket)
	places := 1
	switch e.Kind {
	case enroll.Register:
		if e.CorrectedAfter != 0 {
			r.corrections = append(r.corrections, correction{e.Ticket, e.CorrectedAfter, e.Key})
			e.Key = enroll.AddressKey("corrected " + strconv.FormatInt(e.Ticket, 10)) // no address has a space
		}
		e.Holder = r.holder[e.Key]
		if e.Holder == 0 && e.Reason == enroll.AlreadyRegistered {
			e.Holder = r.unknownHolder()
		}
	case enroll.Cancel:
		e.TargetStatus = enroll.Rejected // or any other status without a seat or a place
		if h := r.held[e.Target.Ticket]; h != nil {
			e.Target.Key, e.TargetStatus = h.key, h.status
		}
	default:
		places = atOnce
	}
	for done := false; !done; {
		done = r.apply(e, enroll.Settle(r.counts, r.first(places), r.seats(e.Kind, math.MaxInt), []enroll.Request{e.Request}))
	}
}

// begin takes the first undecided entry. If it moves many people, some of them
// may have moved already; the run's row shows how many.
func (r *replay) begin(e Entry, run Run) {
	r.correct(e.Ticket)
	if !e.Kind.MovesMany() {
		return
	}
	left, up := max(r.counts.Waiting-run.Places, 0), max(r.counts.Taken-run.Seats, 0)
	s := enroll.Settle(r.counts, r.first(left), r.seats(e.Kind, up), []enroll.Request{e.Request})
	is, comes := run.Counts, s.Counts
	begun := limit(is.Capacity) == limit(comes.Capacity) && limit(is.WaitlistCapacity) == limit(comes.WaitlistCapacity) &&
		is.WaitlistEnded == comes.WaitlistEnded && is.CalledOff == comes.CalledOff
	if begun && len(s.Outcomes) == 0 { // with all of them moved, it would be decided
		r.apply(e, s)
	}
}

// end compares the registrations that still have a seat or a place.
func (r *replay) end() {
	for _, ticket := range slices.Sorted(maps.Keys(r.held)) {
		h := r.held[ticket]
		r.compare(ticket, h.stored, outcome{status: h.status})
	}
}

// apply applies the settlement of the entry, and tells whether the entry is
// decided.
func (r *replay) apply(e Entry, s enroll.Settlement) bool {
	r.counts = s.Counts
	for _, o := range s.Changed {
		h := r.held[o.Ticket]
		if h.status = o.Status; h.status == enroll.Confirmed {
			continue
		}
		delete(r.held, o.Ticket)
		if r.holder[h.key] == o.Ticket {
			delete(r.holder, h.key)
		}
		r.compare(o.Ticket, h.stored, outcome{o.Status, o.Reason})
	}
	for _, o := range s.Outcomes {
		stored := outcome{e.Status, e.Reason}
		if o.Status != enroll.Confirmed && o.Status != enroll.Waitlisted {
			r.compare(o.Ticket, stored, outcome{o.Status, o.Reason})
			continue
		}
		r.held[o.Ticket], r.holder[e.Key] = &held{e.Key, o.Status, stored}, o.Ticket
		if o.Status == enroll.Waitlisted {
			r.stand(o.Ticket)
		}
	}
	return len(s.Outcomes) > 0 || len(s.Changed) == 0 // a settlement without progress must not loop for ever
}

// compare compares the ledger's outcome of a ticket with the replay's. An
// undecided ticket is reported elsewhere.
func (r *replay) compare(ticket int64, stored, comes outcome) {
	if stored != comes && stored.status != enroll.Queued {
		r.differ(ticket, stored, comes)
	}
}

// correct applies the corrections that were made before the ticket was settled.
func (r *replay) correct(ticket int64) {
	r.corrections = slices.DeleteFunc(r.corrections, func(c correction) bool {
		if c.after >= ticket {
			return false
		}
		if h := r.held[c.ticket]; h != nil {
			delete(r.holder, h.key)
			h.key, r.holder[c.key] = c.key, c.ticket
		}
		return true
	})
}

// unknownHolder returns the ticket of a registration whose address of that time
// is unknown, or 0.
func (r *replay) unknownHolder() int64 {
	for _, c := range r.corrections {
		if r.held[c.ticket] != nil {
			return c.ticket
		}
	}
	return 0
}

// stand puts the ticket at the end of the waiting list.
func (r *replay) stand(ticket int64) {
	if len(r.waiting) > 2*r.counts.Waiting+atOnce { // most of them have left it
		r.waiting = slices.DeleteFunc(r.waiting, func(t int64) bool { return !r.waits(t) })
	}
	r.waiting = append(r.waiting, ticket)
}

func (r *replay) waits(ticket int64) bool {
	h := r.held[ticket]
	return h != nil && h.status == enroll.Waitlisted
}

// first returns at most so many of the first people on the waiting list. It
// drops the tickets before them that have left the list.
func (r *replay) first(most int) []enroll.Holding {
	var holdings []enroll.Holding
	passed := 0
	for ; passed < len(r.waiting) && len(holdings) < most; passed++ {
		if t := r.waiting[passed]; r.waits(t) {
			r.waiting[len(holdings)] = t
			holdings = append(holdings, enroll.Holding{Ticket: t, Key: r.held[t].key})
		}
	}
	copy(r.waiting[passed-len(holdings):], r.waiting[:len(holdings)])
	r.waiting = r.waiting[passed-len(holdings):]
	return holdings
}

// seats returns at most so many of the first people with a seat, if the kind
// takes seats away.
func (r *replay) seats(kind enroll.Kind, most int) []enroll.Holding {
	if kind != enroll.CallOff {
		return nil
	}
	var holdings []enroll.Holding
	for _, t := range slices.Sorted(maps.Keys(r.held)) {
		if h := r.held[t]; h.status == enroll.Confirmed && len(holdings) < most {
			holdings = append(holdings, enroll.Holding{Ticket: t, Key: h.key})
		}
	}
	return holdings
}

// limit returns a capacity in words.
func limit(most *int) string {
	if most == nil {
		return "unlimited"
	}
	return strconv.Itoa(*most)
}
