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
	"errors"
	"time"

	"github.com/google/uuid"
)

// Course is what is taught.
type Course struct {
	Slug        string // names the course in URLs; see ParseSlug
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

	Capacity *int // seats; nil = unlimited, 0 = none

	OpensAt  time.Time // registration is possible from here (inclusive) …
	ClosesAt time.Time // … to here (exclusive)
}

// RunState is a run as somebody sees it who asks now.
type RunState struct {
	Run
	AttendancesCount int   // seats held
	LastTicket       int64 // the last ticket issued in the run's line
	SettledTicket    int64 // the last ticket decided
	Now              time.Time
}

// Waiting returns how many requests of the line are not decided yet.
func (r RunState) Waiting() int64 { return r.LastTicket - r.SettledTicket }

// SeatsLeft returns the free seats, never below zero, or nil if the run is
// unlimited.
func (r RunState) SeatsLeft() *int {
	if r.Capacity == nil {
		return nil
	}
	left := max(*r.Capacity-r.AttendancesCount, 0)
	return &left
}

// OverCapacity tells whether more seats are held than the run has. That is
// legal: lowering a capacity takes nobody's seat away.
func (r RunState) OverCapacity() bool {
	return r.Capacity != nil && r.AttendancesCount > *r.Capacity
}

// Window is the state of a run's registration window.
type Window string

// The states of a window.
const (
	NotOpen Window = "not_open"
	Open    Window = "open"
	Closed  Window = "closed"
)

// Window returns whether registration was possible at the instant the state
// was read.
func (r RunState) Window() Window { return WindowAt(r.Now, r.OpensAt, r.ClosesAt) }

// WindowAt judges an instant: opens is inclusive, closes exclusive.
func WindowAt(now, opens, closes time.Time) Window {
	switch {
	case now.Before(opens):
		return NotOpen
	case !now.Before(closes):
		return Closed
	default:
		return Open
	}
}

// Application is a validated wish for a seat that has not been accepted yet.
type Application struct {
	ID             uuid.UUID // the registration's id if it is accepted
	Run            string    // the run's slug
	Name           Name
	Address        Address
	Language       Language // of the mails; empty = the run's
	Notify         bool     // a refusal is told by mail, too
	IdempotencyKey string   // empty = none
}

// Wish is an Application as somebody wrote it.
type Wish struct {
	Run, Name, Email string
	Language         *string // nil = the run's
	Notify           bool
	IdempotencyKey   string // empty = none
}

// Apply returns the application for a seat, with a new id, or an error of code
// Invalid with every fault of name, email and language.
func Apply(w Wish) (Application, error) {
	a := Application{ID: uuid.New(), Run: w.Run, Notify: w.Notify, IdempotencyKey: w.IdempotencyKey}
	var errs [3]error
	a.Name, errs[0] = ParseName(w.Name)
	a.Address, errs[1] = ParseAddress(w.Email)
	if w.Language != nil {
		a.Language, errs[2] = ParseLanguage(*w.Language)
	}
	var faults []Fault
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			faults = append(faults, e.Faults...)
		}
	}
	if faults != nil {
		return Application{}, &Error{Code: Invalid, Faults: faults}
	}
	return a, nil
}

// Status is where a registration stands.
type Status string

// The statuses of a registration.
const (
	Queued    Status = "queued"
	Confirmed Status = "confirmed"
	Rejected  Status = "rejected"
)

// Final tells whether only a later request in the line can change the status.
func (s Status) Final() bool { return s != Queued }

// Reason says why a registration has its status. The zero Reason is "no reason
// needed".
type Reason string

// The reasons of a rejection.
const (
	Full              Reason = "full"
	AlreadyRegistered Reason = "already_registered"
)

// Message returns the reason as a sentence for the person who asked, and "" for
// no reason or an unknown one.
func (r Reason) Message() string {
	switch r {
	case Full:
		return "There is no seat left in this run."
	case AlreadyRegistered:
		return "This e-mail address already holds a seat in this run."
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

// Receipt is the registration that an accepted application got.
type Receipt struct {
	Registration
	// What stands in the line. It is what the application said, unless Again.
	Name     Name
	Email    string
	Language Language
	Notify   bool
	Again    bool // an earlier application with the same IdempotencyKey got it
}

// ReceiptFor returns the receipt for an application that got the registration.
func ReceiptFor(a Application, r Registration) Receipt {
	return Receipt{Registration: r, Name: a.Name, Email: a.Address.Typed, Language: a.Language, Notify: a.Notify}
}

// Says tells whether what stands in the line is what the application says.
func (r Receipt) Says(a Application) bool {
	return r.Name == a.Name && r.Email == a.Address.Typed && r.Language == a.Language && r.Notify == a.Notify
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
	RunID RunID
	Run   string        // the run's slug
	Age   time.Duration // since that request was accepted; negative if the clock was set back
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
	More        bool // the budget ran out before the line did
}
