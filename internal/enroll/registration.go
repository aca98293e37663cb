package enroll

import (
	"time"

	"github.com/google/uuid"
)

// Status is the status of a registration, or of another request in the line.
type Status string

// The statuses of a registration.
const (
	Queued      Status = "queued"
	Confirmed   Status = "confirmed"
	Waitlisted  Status = "waitlisted"
	Rejected    Status = "rejected"
	Cancelled   Status = "cancelled"
	NotPromoted Status = "not_promoted" // the waiting list ended first
)

// Done is the status of any other request once it is settled.
const Done Status = "done"

// Final tells whether the registration is decided and not waitlisted. Only a
// later request, such as a cancel, changes a final status.
func (s Status) Final() bool { return s != Queued && s != Waitlisted }

// Reason says why a registration has its status. The zero Reason means that the
// status needs none.
type Reason string

// The reasons of a rejection, of a cancellation that the person did not ask for,
// and of a request that changed nothing.
const (
	Full              Reason = "full"
	AlreadyRegistered Reason = "already_registered"
	WaitlistTooLong   Reason = "waitlist_too_long"
	RunCalledOff      Reason = "called_off"
	Removed           Reason = "removed"
	NoEffect          Reason = "no_effect"
)

// Message returns the reason in words for the person, or "" if there is none or
// it is unknown.
func (r Reason) Message() string {
	switch r {
	case Full:
		return "There are no seats left in this run."
	case AlreadyRegistered:
		return "This e-mail address already has a seat in this run, or a place on its waiting list. To register another person, use another address."
	case WaitlistTooLong:
		return "All seats were taken, and the waiting list was longer than the limit you set."
	case RunCalledOff:
		return "The run has been called off."
	case Removed:
		return "The organiser has cancelled this registration."
	case NoEffect:
		return "There was nothing left to change."
	default:
		return ""
	}
}

// Registration is an accepted request of kind register, seen as a resource.
type Registration struct {
	ID            uuid.UUID // the person's only credential: never logged
	RunID         RunID
	Run           string // the run's slug
	Ticket        int64  // position in the run's line, from 1
	Status        Status
	Reason        Reason
	AcceptedAt    time.Time
	DecidedAt     time.Time // zero while queued
	SettledTicket int64     // of the run, at the time of reading

	// ChangedAt is when a later request changed the status; zero = never. If
	// the registration is confirmed, it was promoted then.
	ChangedAt        time.Time
	WaitlistPosition int // place on the waiting list, 1 = first; 0 = none
	Cancellation     Cancellation

	// Retired tells that the ID was retired by a correction of the address. No
	// other field is set then.
	Retired bool
}

// Cancellation is the request to cancel a registration. The zero Cancellation
// means that there is none.
type Cancellation struct {
	Ticket int64
	Status Status // Queued or Done
}

// Path returns the path of the registration below the public URL. It contains
// the id, so never log it.
func (r Registration) Path() string { return "/v1/registrations/" + r.ID.String() }

// Position returns the position of a queued request in the line, 1 = next, and 0
// once it is decided.
func (r Registration) Position() int64 {
	if r.Status != Queued {
		return 0
	}
	return max(r.Ticket-r.SettledTicket, 1)
}
