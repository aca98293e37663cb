package enroll

// Kind is what a request asks for.
type Kind string

// The kinds of requests.
const (
	Register      Kind = "register"       // a seat
	Cancel        Kind = "cancel"         // to give up the seat or the place that a registration has
	Resize        Kind = "resize"         // another capacity of the run, or of its waiting list
	CloseWaitlist Kind = "close_waitlist" // nobody is promoted any more
	CallOff       Kind = "call_off"       // the run does not take place
)

// MovesMany tells whether a request of the kind can move many people. It is
// settled by itself, and in several steps if they are too many for one.
func (k Kind) MovesMany() bool { return k == Resize || k == CloseWaitlist || k == CallOff }

// Request is one undecided entry of a line, as far as settling looks at it.
type Request struct {
	Ticket int64
	Kind   Kind
	// Late tells that the waiting list's time had come when the request was
	// accepted: it puts nobody on the list and promotes nobody.
	Late bool

	// Of Register.
	Key AddressKey
	// Holder is the ticket of the registration by which the address had a seat
	// or a place before the first of the requests that are settled together;
	// 0 = it had none.
	Holder        int64
	WaitlistLimit *int // the last place on the list that is wanted; 0 = a seat or nothing, nil = any
	// Notify tells whether a refusal is to be told by mail: the person asked for
	// that, or has waited so long that nobody watches the status any more.
	Notify bool

	// Of Cancel.
	Target       Holding // the registration
	TargetStatus Status  // before the first of the requests; Queued for one of them
	ByOrganiser  bool

	// Of Resize.
	Change Change
}

// Change is what a Resize changes.
type Change struct {
	Capacity         *Limit // nil = as it is
	WaitlistCapacity *Limit // nil = as it is
}

// Limit is a number of seats or places; the zero Limit's Most is nil, which is
// unlimited.
type Limit struct{ Most *int }
