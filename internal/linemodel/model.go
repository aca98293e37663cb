// Package linemodel settles a line in the slow and obvious way: one request after
// the other, by the rules of docs/design.md. Tests and the verdicts of rush and
// chaos compare the real thing with it. So it must not know enroll.Settle, the
// code that it judges; internal/doctor's replay, which settles a line again with
// that code, is another matter.
package linemodel

import (
	"slices"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Outcome is what became of a request.
type Outcome struct {
	Status  enroll.Status
	Reason  enroll.Reason
	Changed bool // by a later request
}

// Model is a run and the part of its line that was settled.
type Model struct {
	Capacity  *int // as it is now; nil = unlimited
	Places    *int // on the waiting list; nil = unlimited
	Ended     bool // the waiting list has ended
	CalledOff bool
	Notices   []enroll.Notice // the mails that became due, in that order

	outcomes map[int64]*Outcome          // by ticket
	keys     map[int64]enroll.AddressKey // of registrations, by ticket
	holder   map[enroll.AddressKey]int64 // the registration that holds a seat or a place
	list     []int64                     // the waiting list, with some who have left it
	taken    int                         // seats
	waiting  int                         // places
}

// New returns a run without requests, with that many seats and places on the
// waiting list; nil = any number.
func New(capacity, places *int) *Model {
	return &Model{
		Capacity: capacity, Places: places,
		outcomes: make(map[int64]*Outcome), keys: make(map[int64]enroll.AddressKey), holder: make(map[enroll.AddressKey]int64),
	}
}

// Settle settles the next request of the line. Of a cancellation's target, the
// ticket counts.
func (m *Model) Settle(r enroll.Request) {
	switch r.Kind {
	case enroll.Register:
		m.register(r)
	case enroll.Cancel:
		m.cancel(r)
	case enroll.Resize:
		m.resize(r)
	case enroll.CloseWaitlist:
		m.closeWaitlist(r)
	case enroll.CallOff:
		m.callOff(r)
	}
}

// Correct gives a registration with a seat or a place another address.
func (m *Model) Correct(ticket int64, key enroll.AddressKey) {
	if !m.holds(ticket) {
		return
	}
	delete(m.holder, m.keys[ticket])
	m.keys[ticket], m.holder[key] = key, ticket
}

// Outcome returns what became of the request, the zero Outcome if it was not
// settled.
func (m *Model) Outcome(ticket int64) Outcome {
	if o := m.outcomes[ticket]; o != nil {
		return *o
	}
	return Outcome{}
}

// Key returns the address of the registration as it is now.
func (m *Model) Key(ticket int64) enroll.AddressKey { return m.keys[ticket] }

// Taken returns how many seats are taken.
func (m *Model) Taken() int { return m.taken }

// Waiting returns how many people are on the waiting list.
func (m *Model) Waiting() int { return m.waiting }

// SeatFree reports whether a seat is free.
func (m *Model) SeatFree() bool { return m.Capacity == nil || m.taken < *m.Capacity }

// Tickets returns the registrations with the status, in ticket order.
func (m *Model) Tickets(status enroll.Status) []int64 {
	var all []int64
	for _, ticket := range m.holder {
		if m.outcomes[ticket].Status == status {
			all = append(all, ticket)
		}
	}
	slices.Sort(all)
	return all
}

func (m *Model) holds(ticket int64) bool { return m.holder[m.keys[ticket]] == ticket }

func (m *Model) notify(ticket int64, mail enroll.MailKind) {
	m.Notices = append(m.Notices, enroll.Notice{Ticket: ticket, Mail: mail})
}

// decide is the outcome of the request that is being settled.
func (m *Model) decide(r enroll.Request, status enroll.Status, reason enroll.Reason) {
	m.outcomes[r.Ticket] = &Outcome{Status: status, Reason: reason}
}

// change changes what an earlier request came to.
func (m *Model) change(ticket int64, status enroll.Status, reason enroll.Reason, mail enroll.MailKind) {
	m.outcomes[ticket] = &Outcome{status, reason, true}
	m.notify(ticket, mail)
}

func (m *Model) register(r enroll.Request) {
	m.keys[r.Ticket] = r.Key
	refusal := func(reason enroll.Reason) {
		m.decide(r, enroll.Rejected, reason)
		if r.Notify {
			m.notify(r.Ticket, enroll.MailFull)
		}
	}
	switch holder := m.holder[r.Key]; {
	case m.CalledOff:
		m.decide(r, enroll.Rejected, enroll.RunCalledOff)
		m.notify(r.Ticket, enroll.MailCalledOff)
	case holder != 0:
		m.decide(r, enroll.Rejected, enroll.AlreadyRegistered)
		m.notify(holder, enroll.MailAlreadyRegistered)
	case m.SeatFree() && (m.waiting == 0 || r.Late):
		m.holder[r.Key] = r.Ticket
		m.taken++
		m.decide(r, enroll.Confirmed, "")
		m.notify(r.Ticket, enroll.MailConfirmed)
	case r.Late || m.Ended || m.Places != nil && m.waiting >= *m.Places:
		refusal(enroll.Full)
	case r.WaitlistLimit != nil && *r.WaitlistLimit == 0: // a seat or nothing
		refusal(enroll.Full)
	case r.WaitlistLimit != nil && m.waiting >= *r.WaitlistLimit:
		refusal(enroll.WaitlistTooLong)
	default:
		m.holder[r.Key] = r.Ticket
		m.list = append(m.list, r.Ticket)
		m.waiting++
		m.decide(r, enroll.Waitlisted, "")
		m.notify(r.Ticket, enroll.MailWaitlisted)
	}
}

func (m *Model) cancel(r enroll.Request) {
	reason := enroll.Reason("")
	if r.ByOrganiser {
		reason = enroll.Removed
	}
	target := r.Target.Ticket
	switch m.Outcome(target).Status {
	case enroll.Confirmed:
		m.release(target, enroll.Cancelled, reason, enroll.MailCancelled)
		if m.waiting > 0 && m.SeatFree() && !r.Late {
			m.promote()
		}
		m.decide(r, enroll.Done, "")
	case enroll.Waitlisted:
		m.release(target, enroll.Cancelled, reason, enroll.MailCancelled)
		m.decide(r, enroll.Done, "")
	default:
		m.decide(r, enroll.Done, enroll.NoEffect)
	}
}

func (m *Model) resize(r enroll.Request) {
	if c := r.Change.Capacity; c != nil {
		m.Capacity = c.Most
	}
	if c := r.Change.WaitlistCapacity; c != nil {
		m.Places = c.Most
	}
	for m.waiting > 0 && m.SeatFree() && !r.Late {
		m.promote()
	}
	m.decide(r, enroll.Done, "")
}

func (m *Model) closeWaitlist(r enroll.Request) {
	if m.Ended {
		m.decide(r, enroll.Done, enroll.NoEffect)
		return
	}
	for _, ticket := range m.Tickets(enroll.Waitlisted) {
		m.release(ticket, enroll.NotPromoted, "", enroll.MailNotPromoted)
	}
	m.Ended = true
	m.decide(r, enroll.Done, "")
}

func (m *Model) callOff(r enroll.Request) {
	if m.CalledOff {
		m.decide(r, enroll.Done, enroll.NoEffect)
		return
	}
	for _, ticket := range slices.Concat(m.Tickets(enroll.Waitlisted), m.Tickets(enroll.Confirmed)) {
		m.release(ticket, enroll.Cancelled, enroll.RunCalledOff, enroll.MailCalledOff)
	}
	m.Ended, m.CalledOff = true, true
	m.decide(r, enroll.Done, "")
}

// release takes the seat or the place of a registration away.
func (m *Model) release(ticket int64, status enroll.Status, reason enroll.Reason, mail enroll.MailKind) {
	if m.outcomes[ticket].Status == enroll.Confirmed {
		m.taken--
	} else {
		m.waiting--
	}
	delete(m.holder, m.keys[ticket])
	m.change(ticket, status, reason, mail)
}

// promote gives the first person on the waiting list a seat.
func (m *Model) promote() {
	for m.outcomes[m.list[0]].Status != enroll.Waitlisted {
		m.list = m.list[1:]
	}
	first := m.list[0]
	m.list = m.list[1:]
	m.taken++
	m.waiting--
	m.change(first, enroll.Confirmed, "", enroll.MailPromoted)
}
