package enroll

import "time"

// RunCounts is the part of a run that settling depends on and changes: its
// capacities, and how much of them is taken.
type RunCounts struct {
	Capacity         *int // nil = unlimited
	WaitlistCapacity *int // 0 = no waiting list, nil = unlimited
	Taken            int  // seats held: the run's attendances_count
	Waiting          int  // people on the waiting list: the run's waiting_count
	WaitlistEnded    bool
	CalledOff        bool
}

// full tells whether nobody can be given a seat. It never compares for
// equality: a capacity that was lowered can lie below the seats held.
func (c RunCounts) full() bool { return c.Capacity != nil && c.Taken >= *c.Capacity }

// listFull tells whether nobody can be put on the waiting list.
func (c RunCounts) listFull() bool {
	return c.WaitlistEnded || c.WaitlistCapacity != nil && c.Waiting >= *c.WaitlistCapacity
}

// Holding is a registration that has a seat or a place on the waiting list.
type Holding struct {
	Ticket int64
	Key    AddressKey
}

// Outcome is what settling decides about one request, or what becomes of a
// registration that was decided before.
type Outcome struct {
	Ticket int64
	Before Status // Queued for a request that is settled now
	Status Status
	Reason Reason
	// Changed tells that a later request in the line has changed it, be it settled
	// in the same call or not.
	Changed bool
}

// Notice is something to be told by mail.
type Notice struct {
	Ticket int64 // of the registration it is about
	Mail   MailKind
}

// Settlement is what settling requests together comes to.
type Settlement struct {
	Counts   RunCounts // afterwards
	Outcomes []Outcome // of the requests that are settled, which are the first ones, in order
	Changed  []Outcome // of earlier registrations, each once, in the order of their first change
	Notices  []Notice  // in the order of what happened
}

// SettleLimits bound one settling transaction.
type SettleLimits struct {
	Budget    int           // the most requests, over all runs in it
	LateAfter time.Duration // a refusal that comes later than this is told by mail
}

// Progress is what one settling transaction did to one run's line: it settled
// the tickets First to Last. First > Last: there was nothing to settle.
type Progress struct {
	First, Last int64
	More        bool  // the line is not at its end
	ChangedFrom int64 // the first ticket of whose registration something changed; First if of no earlier one
}
