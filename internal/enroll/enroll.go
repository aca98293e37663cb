// Package enroll is the domain of Lastseat: courses, runs, the requests in a
// run's line, and the pure function that settles them.
//
// It owns the words (docs/design.md lists them), the rules for what a request
// may contain, and the error codes. It must not know how anything is stored,
// queued or shown: it does no I/O, reads no clock and starts no goroutine. Its
// only imports outside the standard library are the tables behind two
// standards (Unicode normalisation and IDNA) and the UUID type.
package enroll

import (
	"time"

	"github.com/google/uuid"
)

// Course is what is taught.
type Course struct {
	Slug        string // names the course in URLs; see ParseNewSlug
	Title       string
	Description string
	Organiser   string // who sends the mails, by name; empty = the installation
	ReplyTo     string // where answers to them go; empty = to the sender
}

// RunID is the number of a run inside one installation. It fits the second key
// of a Postgres advisory lock, which names the lane of the run.
type RunID int32

// Run is one scheduled date of a course.
type Run struct {
	ID       RunID
	Slug     string // immutable: it names the run's queue and its URL
	Course   string // the course's slug
	Title    string // the course's title
	Place    string
	TimeZone string   // IANA name in which the run's times are shown
	Language Language // of its mails, unless somebody asks for another; empty = English

	Organiser string // the course's
	ReplyTo   string // the course's
	Revision  int    // how often time or place were changed: calendars need to know

	StartsAt time.Time
	EndsAt   time.Time

	Capacity         *int      // seats; nil = unlimited, 0 = none
	WaitlistCapacity *int      // places on the waiting list; nil = unlimited, 0 = there is none
	PromoteUntil     time.Time // when the waiting list ends; zero = when the run begins. See ListEndsAt

	OpensAt  time.Time // registration is possible from here (inclusive) …
	ClosesAt time.Time // … to here (exclusive)

	WaitlistEnded bool // by a request in the line
	CalledOff     bool
}

// Schedule returns when and where the run takes place.
func (r Run) Schedule() Schedule {
	return Schedule{StartsAt: r.StartsAt, EndsAt: r.EndsAt, TimeZone: r.TimeZone, Place: r.Place}
}

// RunState is a run as of Now.
type RunState struct {
	Run
	AttendancesCount int       // seats held
	WaitingCount     int       // people on the waiting list
	LastTicket       int64     // the last ticket issued in the run's line
	SettledTicket    int64     // the last ticket decided
	Now              time.Time // by the line's clock, which never runs backwards
}

// Waiting returns how many requests of the line are not decided yet.
func (r RunState) Waiting() int64 { return r.LastTicket - r.SettledTicket }

// OverCapacity tells whether more seats are held than the run has. That is
// legal: lowering a capacity takes nobody's seat away.
func (r RunState) OverCapacity() bool {
	return r.Capacity != nil && r.AttendancesCount > *r.Capacity
}

// Status is where a registration stands.
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

// Done is the status of a request that is no registration, once it is settled.
const Done Status = "done"

// Final tells whether nothing changes the status by itself any more: neither
// being decided nor being promoted. A later cancellation still can.
func (s Status) Final() bool { return s != Queued && s != Waitlisted }

// Reason says why a registration has its status. The zero Reason is "no reason
// needed".
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

// Message returns the reason as a sentence for the person who asked, and "" for
// no reason or an unknown one.
func (r Reason) Message() string {
	switch r {
	case Full:
		return "There is no seat left in this run."
	case AlreadyRegistered:
		return "This e-mail address already has a seat in this run, or a place on its waiting list. Another person needs another address."
	case WaitlistTooLong:
		return "All seats were taken, and the waiting list was longer than you wanted to wait."
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
	Ticket        int64  // place in the run's line, from 1
	Status        Status
	Reason        Reason
	AcceptedAt    time.Time
	DecidedAt     time.Time // zero while queued
	SettledTicket int64     // of the run, when this was read

	// ChangedAt is when a later request changed the status; zero = none did. A
	// registration that is confirmed was promoted then.
	ChangedAt        time.Time
	WaitlistPosition int // place on the waiting list, 1 = first; 0 = none
	Cancellation     Cancellation

	// Retired tells that the registration has another ID by now, since its address
	// was corrected. Nothing else is set then.
	Retired bool
}

// Cancellation is the request to cancel a registration. The zero Cancellation is
// that nobody asked for it.
type Cancellation struct {
	Ticket int64
	Status Status // Queued or Done
}

// Path returns where the registration is found below the public URL. Whoever
// knows it can act for the person.
func (r Registration) Path() string { return "/v1/registrations/" + r.ID.String() }

// Position returns the place in the line, 1 = next, and 0 once decided.
func (r Registration) Position() int64 {
	if r.Status != Queued {
		return 0
	}
	return max(r.Ticket-r.SettledTicket, 1)
}

// Entry is a request as it stands in a run's line.
type Entry struct {
	Ticket      int64
	Kind        Kind
	Status      Status
	Reason      Reason
	AcceptedAt  time.Time
	DecidedAt   time.Time // zero while queued
	ChangedAt   time.Time // when a later request changed the status; zero = none did
	Name        Name      // of Register
	Email       string    // of Register, as it was typed
	Target      int64     // of Cancel: the registration's ticket
	ByOrganiser bool
	Change      Change // of Resize
}

// Verdict is the answer to one application: a receipt or an error.
type Verdict struct {
	Receipt Receipt
	Err     error // code NotFound, RunNotOpen or RunClosed, or nil
}

// Bundle is the range of tickets that one accepting transaction issued in one
// run's line.
type Bundle struct {
	RunID RunID
	Run   string // the run's slug
	First int64
	Last  int64
}

// Behind is a line whose first undecided request has been waiting.
type Behind struct {
	RunID   RunID
	Run     string        // the run's slug
	Age     time.Duration // since that request was accepted; negative if the clock was set back
	Settled int64         // the last ticket before it
}

// Old tells whether that request has waited for age. One from the future has:
// how long is not known.
func (b Behind) Old(age time.Duration) bool { return b.Age >= age || b.Age < 0 }

// Terms are what one settling transaction is held to.
type Terms struct {
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
