package enroll

// Kind is what a request asks for.
type Kind string

// The kinds of requests.
const (
	Register      Kind = "register"       // a seat
	Cancel        Kind = "cancel"         // to give up the seat or the place that a registration has
	Resize        Kind = "resize"         // another capacity for the run or its waiting list
	CloseWaitlist Kind = "close_waitlist" // the end of the waiting list
	CallOff       Kind = "call_off"       // the run does not take place
)

// MovesMany tells whether a request of the kind can move many people. Such a
// request is settled alone, in several steps if there are too many for one.
func (k Kind) MovesMany() bool { return k == Resize || k == CloseWaitlist || k == CallOff }

// Request is an undecided request of a line, with everything that settling
// needs.
type Request struct {
	Ticket int64
	Kind   Kind
	// Late tells that the waiting list's time had come when the request was
	// accepted. It joins no list and promotes no person.
	Late bool

	// Of Register.
	Key AddressKey
	// Holder is the ticket of the address's holding before the first of the
	// requests that are settled together; 0 = it has none.
	Holder        int64
	WaitlistLimit *int // the last place on the list that the person wants; 0 = a seat or nothing, nil = any
	// Notify tells whether to tell a refusal by mail: because the person asked
	// for it, or waited so long that nobody watches the status any more.
	Notify bool

	// Of Cancel.
	Target       Holding // the registration
	TargetStatus Status  // before the first of the requests; Queued if the target is one of them
	ByOrganiser  bool

	// Of Resize.
	Change Change
}

// Change is what a Resize changes.
type Change struct {
	Capacity         *Limit // nil = unchanged
	WaitlistCapacity *Limit // nil = unchanged
}

// Limit is a number of seats or places. The zero Limit is unlimited.
type Limit struct{ Most *int }
