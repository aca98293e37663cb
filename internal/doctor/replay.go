package doctor

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/lastseat/lastseat/internal/enroll"
)

// outcome is where a request stands.
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

// replay settles a line again from its beginning, one request at a time: since
// outcomes do not depend on how a line is cut, the simplest cut will do. It
// compares a registration once nothing more can happen to it, so that it only
// has to remember who has a seat or a place.
//
// What it cannot tell: a request that was rejected as already_registered while a
// registration that was corrected later had an address that is no longer known
// is believed. Up to the correction that registration has an address like no
// other's.
type replay struct {
	counts      enroll.RunCounts
	held        map[int64]*held             // by ticket: who has a seat or a place
	holder      map[enroll.AddressKey]int64 // by address: the same
	waiting     []int64                     // the waiting list by ticket, with some who have left it
	corrections []correction                // that are still to come
	differ      func(ticket int64, got, want outcome)
}

// held is a registration with a seat or a place.
type held struct {
	key    enroll.AddressKey
	status enroll.Status
	stored outcome // how it ends, by what the ledger says
}

// correction is the address a registration has from the ticket after on.
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

// atOnce is how many of a waiting list are moved at once.
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
		e.TargetStatus = enroll.Rejected // or anything else that has neither a seat nor a place
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

// begin takes the first entry that is not decided. If it moves many people, some
// of them may have been moved already, as the run shows.
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
	if begun && len(s.Outcomes) == 0 { // were all moved, it would be decided
		r.apply(e, s)
	}
}

// end compares those who still have a seat or a place.
func (r *replay) end() {
	for _, ticket := range slices.Sorted(maps.Keys(r.held)) {
		h := r.held[ticket]
		r.compare(ticket, h.stored, outcome{status: h.status})
	}
}

// apply takes over what settling the entry came to, and tells whether the entry
// is decided.
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
	return len(s.Outcomes) > 0 || len(s.Changed) == 0 // settling always moves on; never ask it for ever
}

// compare compares what the ledger says of a ticket with what it comes to. What
// is not decided is another matter.
func (r *replay) compare(ticket int64, stored, comes outcome) {
	if stored != comes && stored.status != enroll.Queued {
		r.differ(ticket, stored, comes)
	}
}

// correct makes the corrections that were made before the ticket was settled.
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

// unknownHolder returns a registration that may have had any address, or 0.
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
	if len(r.waiting) > 2*r.counts.Waiting+atOnce { // most have left it
		r.waiting = slices.DeleteFunc(r.waiting, func(t int64) bool { return !r.waits(t) })
	}
	r.waiting = append(r.waiting, ticket)
}

func (r *replay) waits(ticket int64) bool {
	h := r.held[ticket]
	return h != nil && h.status == enroll.Waitlisted
}

// first returns the first so many on the waiting list. Those it passes who have
// left it are never passed again.
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

// seats returns the first so many who have a seat, if what is settled is to take
// it away.
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

// limit writes a capacity.
func limit(most *int) string {
	if most == nil {
		return "unlimited"
	}
	return strconv.Itoa(*most)
}
