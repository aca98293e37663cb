package enroll

// Seats is the part of a run that settling depends on and changes.
type Seats struct {
	Capacity *int // nil = unlimited
	Taken    int  // seats held: the run's attendances_count
}

// full tells whether nobody can be given a seat. It never compares for
// equality: a capacity that was lowered can lie below the seats held.
func (s Seats) full() bool { return s.Capacity != nil && s.Taken >= *s.Capacity }

// Request is one undecided entry of a line, as far as settling looks at it.
type Request struct {
	Ticket int64
	Key    AddressKey
	// Holds tells whether the address held a seat in this run before the first
	// of the requests that are settled together.
	Holds bool
	// Notify tells whether a refusal is to be told by mail: the person asked for
	// that, or has waited so long that nobody watches the status any more.
	Notify bool
}

// Outcome is what settling decides about one request.
type Outcome struct {
	Ticket int64
	Status Status
	Reason Reason
	Mail   MailKind // what is told by mail; "" = nothing
}

// Settle decides requests, which must be the next ones of a run's line in
// ticket order, and returns the run's seats afterwards and one outcome per
// request in the same order. It depends on nothing but its arguments and
// changes none of them, so the same line has the same outcomes however it is
// cut into pieces and wherever it is computed.
func Settle(seats Seats, requests []Request) (Seats, []Outcome) {
	outcomes := make([]Outcome, len(requests))
	seated := make(map[AddressKey]bool)
	for i, r := range requests {
		outcomes[i] = Outcome{Ticket: r.Ticket, Status: Rejected}
		switch {
		case r.Holds || seated[r.Key]:
			// To the registration that holds the seat, whoever asked now.
			outcomes[i].Reason, outcomes[i].Mail = AlreadyRegistered, MailAlreadyRegistered
		case seats.full():
			outcomes[i].Reason = Full
			if r.Notify {
				outcomes[i].Mail = MailFull
			}
		default:
			outcomes[i].Status, outcomes[i].Mail = Confirmed, MailConfirmed
			seated[r.Key] = true
			seats.Taken++
		}
	}
	return seats, outcomes
}
