package enroll

import "time"

// RunCounts is the part of a run that settling reads and changes: its
// capacities, and how much of them is taken.
type RunCounts struct {
	Capacity         *int // nil = unlimited
	WaitlistCapacity *int // 0 = no waiting list, nil = unlimited
	Taken            int  // seats held: the run's attendances_count
	Waiting          int  // people on the waiting list: the run's waiting_count
	WaitlistEnded    bool
	CalledOff        bool
}

// full tells whether there is no free seat. It does not compare for equality,
// because a lowered capacity can be below the seats held.
func (c RunCounts) full() bool { return c.Capacity != nil && c.Taken >= *c.Capacity }

// listFull tells whether the waiting list takes no more people.
func (c RunCounts) listFull() bool {
	return c.WaitlistEnded || c.WaitlistCapacity != nil && c.Waiting >= *c.WaitlistCapacity
}

// Holding is a registration that has a seat or a place on the waiting list.
type Holding struct {
	Ticket int64
	Key    AddressKey
}

// Outcome is what settling makes of a request, or of an earlier registration.
type Outcome struct {
	Ticket int64
	Before Status // Queued for a request that is settled now
	Status Status
	Reason Reason
	// Changed tells that a later request in the line has changed it, in the
	// same call or in a later one.
	Changed bool
}

// Notice is one fact to tell one person by mail.
type Notice struct {
	Ticket int64 // of the registration it is about
	Mail   MailKind
}

// Settlement is the result of one call of Settle.
type Settlement struct {
	Counts   RunCounts // afterwards
	Outcomes []Outcome // of the first of the requests, as many as were settled, in order
	Changed  []Outcome // of earlier registrations, each once, in the order of their first change
	Notices  []Notice  // in the order of events
}

// SettleLimits bound one settling transaction.
type SettleLimits struct {
	Budget    int           // the most requests, of all runs together
	LateAfter time.Duration // a refusal for want of seats that takes longer is told by mail
}

// Progress is what one settling transaction did to one run's line: it settled
// the tickets First to Last. If First > Last, there was nothing to settle.
type Progress struct {
	First, Last int64
	More        bool  // undecided requests are left
	ChangedFrom int64 // the first ticket whose registration changed; First if no earlier one did
}
