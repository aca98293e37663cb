package enroll

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code classifies an error for the code that acts on it. The API maps codes to
// HTTP statuses in one place, and the worker maps them to retries in one place.
type Code string

// The codes.
const (
	Internal       Code = "internal"        // a defect or an unknown failure
	Invalid        Code = "invalid"         // Faults say what and where
	Unauthorized   Code = "unauthorized"    // no API token, or one that is not valid
	Forbidden      Code = "forbidden"       // the caller does not have the right
	NotFound       Code = "not_found"       // no such course, run or registration, or none that the caller may see
	RunNotOpen     Code = "not_open"        // the window has not begun
	RunClosed      Code = "closed"          // the window is over
	CodeCalledOff  Code = "called_off"      // the run does not take place
	RunOver        Code = "over"            // the run has ended
	RunBegun       Code = "begun"           // the run has begun: too late to give up a seat
	NotHeld        Code = "not_held"        // the registration has neither a seat nor a place
	KeyReused      Code = "key_reused"      // an Idempotency-Key with another body
	Corrected      Code = "corrected"       // the registration's address was corrected, so it has another id
	CancelWaits    Code = "cancel_waits"    // a request to cancel the registration is undecided
	Conflict       Code = "conflict"        // already exists
	RunIsDraft     Code = "draft"           // the run is not published yet
	WrongState     Code = "wrong_state"     // the run's state does not allow it
	VersionChanged Code = "version_changed" // another change came first
	LastAdmin      Code = "last_admin"      // it would leave no admin
	Busy           Code = "busy"            // too many requests wait: nothing was accepted
	Unavailable    Code = "unavailable"     // the database cannot be reached or takes no work now: nothing was accepted
	LineBlocked    Code = "line_blocked"    // another transaction holds the run's line: nothing was accepted
	OutcomeUnknown Code = "outcome_unknown" // the commit may or may not have happened
	Obsolete       Code = "obsolete"        // the mail makes no sense any more
	MailRefused    Code = "mail_refused"    // the mail server will never take this mail
	MailDeferred   Code = "mail_deferred"   // the mail server may take this mail later
)

// ErrNotHeld says that a registration has neither a seat nor a place.
var ErrNotHeld = Errorf(NotHeld, "the registration has neither a seat nor a place on the waiting list")

// ErrCancelWaits says that a request to cancel the registration is undecided.
var ErrCancelWaits = Errorf(CancelWaits, "a request to cancel this registration is undecided: try again once it is decided")

// ErrKeyReused says that an IdempotencyKey belongs to another request.
var ErrKeyReused = Errorf(KeyReused, "this Idempotency-Key was used for another request: send the same request, or a new key")

// ErrCorrected says that an id, or the idempotency key of its request, no
// longer leads to a registration. A stranger may read this message, because the
// id was mailed to the mistyped address.
var ErrCorrected = Errorf(Corrected, "the e-mail address of this registration was corrected: use the new link, which was sent to the new address")

// Error is an error with a code.
type Error struct {
	Code Code
	// Message is for people: one clause that says what is wrong, and after a
	// colon what is allowed or what to do. It never holds a name, an address or
	// an id.
	Message string
	Faults  []Fault
	Window  *WindowTimes // set for RunNotOpen and RunClosed
	Err     error        // the cause, or nil
}

// WindowTimes are the instants by which a request was found to be outside the
// registration window.
type WindowTimes struct{ Now, OpensAt, ClosesAt time.Time }

// refusals has the messages for the codes of Life.Refusal.
var refusals = map[Code]string{
	RunNotOpen:    "registration for this run has not begun",
	RunClosed:     "registration for this run has closed",
	RunOver:       "the run has ended: it takes no registrations",
	CodeCalledOff: "the run has been called off: it takes no registrations",
	RunIsDraft:    "the run is a draft: publish it first",
	RunBegun:      "the run has begun: only the organiser can cancel a seat now",
}

// Refused returns the error for a request that a run refuses with the code. by
// is reported for RunNotOpen and RunClosed.
func Refused(code Code, by WindowTimes) error {
	e := &Error{Code: code, Message: refusals[code]}
	if code == RunNotOpen || code == RunClosed {
		e.Window = &by
	}
	return e
}

// Fault is one thing wrong with one field of a request.
type Fault struct {
	Field  string // the name as sent
	Code   string // stable, for programs
	Detail string // for people: continues a sentence that begins with the field, such as "must be en or de"
}

// FaultIn returns an Error with the code and one fault.
func FaultIn(field string, code Code, faultCode, detail string) error {
	return &Error{Code: code, Faults: []Fault{{Field: field, Code: faultCode, Detail: detail}}}
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "; %s: %s", f.Field, f.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with the code. An error that the format wraps with %w
// becomes its cause.
func Errorf(code Code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	switch err.(type) { //nolint:errorlint // looks at what fmt.Errorf made, not at what that wraps
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		return &Error{Code: code, Err: err}
	}
	return &Error{Code: code, Message: err.Error()}
}

// coded is an error that knows its code.
type coded interface {
	error
	code() Code
}

func (e *Error) code() Code     { return e.Code }
func (e *SendError) code() Code { return e.Code }

// CodeOf returns the code of the first Error or SendError in err's chain,
// Internal for any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[coded](err); ok {
		return e.code()
	}
	return Internal
}
