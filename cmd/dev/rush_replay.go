package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/lastseat/lastseat/internal/enroll"
)

// fate is what becomes of a request by the rules.
type fate struct {
	status enroll.Status
	reason enroll.Reason
	mails  []enroll.MailKind // in the order they become due
}

func (f *fate) got(mail enroll.MailKind) bool { return slices.Contains(f.mails, mail) }

// replay plays a line by the rules, one request after the other. It does not
// know the code that settled the line, which is what is judged.
type replay struct {
	seats  int
	places *int // nil = any number

	fates   map[int64]*fate  // by ticket
	keys    map[int64]string // the address of a registration
	holders map[string]int64 // by which registration an address has a seat or a place
	seated  []int64          // who got a seat; some may have it no more
	list    []int64          // who got a place, in order; some may have it no more
	first   int              // of the list: nobody before has a place any more
	taken   int
	waiting int

	corrections []entry // that are to come, the next one first
}

// replayLine plays the whole line of a run with so many seats and places.
func replayLine(plan rushPlan, line []entry) *replay {
	r := &replay{
		seats: plan.seats, places: plan.waitlist,
		fates: make(map[int64]*fate, len(line)), keys: make(map[int64]string, len(line)),
		holders: make(map[string]int64),
	}
	for _, e := range line {
		if e.Corrected != nil {
			r.corrections = append(r.corrections, e)
		}
	}
	slices.SortStableFunc(r.corrections, func(a, b entry) int { return cmp.Compare(*a.Corrected, *b.Corrected) })
	for _, e := range line {
		r.correct(e.Ticket)
		switch e.Kind {
		case enroll.Register:
			r.keys[e.Ticket] = cmp.Or(e.FirstKey, e.Key)
			r.fates[e.Ticket] = r.register(e)
		case enroll.Cancel:
			r.fates[e.Ticket] = r.cancel(e)
		case enroll.Resize:
			if plan.resized {
				r.fates[e.Ticket] = r.resize(e)
			}
		default: // nobody asks for it
		}
	}
	r.correct(math.MaxInt64)
	return r
}

// correct gives registrations their new addresses, as far as that came before the
// ticket. The new address is told by mail of what it has.
func (r *replay) correct(before int64) {
	for len(r.corrections) > 0 && *r.corrections[0].Corrected < before {
		e := r.corrections[0]
		r.corrections = r.corrections[1:]
		if old := r.keys[e.Ticket]; r.holders[old] == e.Ticket {
			delete(r.holders, old)
		}
		r.keys[e.Ticket], r.holders[e.Key] = e.Key, e.Ticket
		if f := r.fates[e.Ticket]; f.status == enroll.Confirmed && !f.got(enroll.MailConfirmed) {
			f.mails = append(f.mails, enroll.MailConfirmed)
		}
	}
}

func (r *replay) register(e entry) *fate {
	key := cmp.Or(e.FirstKey, e.Key)
	roomOnList := !e.Late && (r.places == nil || r.waiting < *r.places)
	switch {
	case r.holders[key] != 0:
		return &fate{status: enroll.Rejected, reason: enroll.AlreadyRegistered}
	case r.taken < r.seats && (r.waiting == 0 || e.Late):
		r.holders[key] = e.Ticket
		r.seated = append(r.seated, e.Ticket)
		r.taken++
		return &fate{status: enroll.Confirmed, mails: []enroll.MailKind{enroll.MailConfirmed}}
	case roomOnList && (e.WaitlistLimit == nil || r.waiting < *e.WaitlistLimit):
		r.holders[key] = e.Ticket
		r.list = append(r.list, e.Ticket)
		r.waiting++
		return &fate{status: enroll.Waitlisted, mails: []enroll.MailKind{enroll.MailWaitlisted}}
	case roomOnList && *e.WaitlistLimit > 0:
		return &fate{status: enroll.Rejected, reason: enroll.WaitlistTooLong}
	default:
		return &fate{status: enroll.Rejected, reason: enroll.Full}
	}
}

func (r *replay) cancel(e entry) *fate {
	target := r.fates[e.Target]
	switch {
	case target != nil && target.status == enroll.Confirmed:
		r.taken--
		r.giveUp(e, target)
		if r.waiting > 0 && r.taken < r.seats && !e.Late {
			r.promote()
		}
	case target != nil && target.status == enroll.Waitlisted:
		r.waiting--
		r.giveUp(e, target)
	default:
		return &fate{status: enroll.Done, reason: enroll.NoEffect}
	}
	return &fate{status: enroll.Done}
}

func (r *replay) giveUp(e entry, target *fate) {
	target.status = enroll.Cancelled
	if e.ByOrganiser {
		target.reason = enroll.Removed
	}
	target.mails = append(target.mails, enroll.MailCancelled)
	delete(r.holders, r.keys[e.Target])
}

// resize changes the capacities, and whoever can get a seat by that gets it.
// Nobody asks for unlimited ones.
func (r *replay) resize(e entry) *fate {
	if e.Seats != nil {
		r.seats = *e.Seats
	}
	if e.Places != nil {
		r.places = e.Places
	}
	for r.waiting > 0 && r.taken < r.seats && !e.Late {
		r.promote()
	}
	return &fate{status: enroll.Done}
}

// promote gives the first on the list a seat.
func (r *replay) promote() {
	for r.fates[r.list[r.first]].status != enroll.Waitlisted {
		r.first++
	}
	ticket := r.list[r.first]
	f := r.fates[ticket]
	f.status = enroll.Confirmed
	f.mails = append(f.mails, enroll.MailPromoted)
	r.seated = append(r.seated, ticket)
	r.taken++
	r.waiting--
}

// holding returns those of the tickets that have the status in the end, in
// ticket order, and whose they are.
func (r *replay) holding(tickets []int64, status enroll.Status) []holding {
	var all []holding
	for _, ticket := range slices.Sorted(slices.Values(tickets)) {
		if r.fates[ticket].status == status {
			all = append(all, holding{ticket, r.keys[ticket]})
		}
	}
	return all
}

// told counts the registrations to which a mail of the kind is due.
func (r *replay) told(kind enroll.MailKind) int {
	n := 0
	for _, f := range r.fates {
		if f.got(kind) {
			n++
		}
	}
	return n
}
