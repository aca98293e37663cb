package enroll

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Submission is a validated request that has not been accepted yet.
type Submission struct {
	ID   uuid.UUID // the request's id if it is accepted
	Run  string    // the run's slug
	Kind Kind

	// Of Register.
	Name          Name
	Address       Address
	Language      Language // of the mails; empty = the run's
	Notify        bool     // tell a refusal by mail, too
	WaitlistLimit *int     // the last place on the waiting list that the person wants; 0 = a seat or nothing, nil = any
	OutsideWindow bool     // accept it outside the registration window, too; only with ByOrganiser

	// Of Cancel.
	Target int64     // the registration's ticket
	Shown  uuid.UUID // the id by which the person asks; zero = an organiser asks

	// Of Resize.
	Change Change

	// ByOrganiser tells that an organiser asks. Then a Cancel is accepted after
	// the run has begun, too.
	ByOrganiser bool
	By          Actor

	// IdempotencyKey makes later submissions with the same key for the same run
	// repetitions of the first; empty = none. Keys come from clients, from
	// organisers and from Lastseat itself. A client can send neither of the
	// latter two.
	IdempotencyKey string
	// Digest is set for a Register with an IdempotencyKey.
	Digest Digest
}

// Actor is the account of the organiser that asks, and the API token that the
// organiser used; zero = no account.
type Actor struct{ Account, Token int32 }

// The prefixes of IdempotencyKeys that no client can send, because clients'
// keys are ASCII.
const (
	internalKeyPrefix  = "·"                              // of keys that Lastseat makes itself
	organiserKeyPrefix = internalKeyPrefix + "organiser " // of organisers' keys
)

// RegisterInput is a registration as a client sent it, before validation.
type RegisterInput struct {
	Run, Name, Email string
	Language         *string // nil = the run's
	Notify           bool
	WaitlistLimit    *int
	OutsideWindow    bool   // accept it outside the registration window, too: an organiser's right
	ByOrganiser      bool   // an organiser asks; implied by OutsideWindow
	IdempotencyKey   string // empty = none
}

// NewRegister returns the submission for a seat, with a new id, or an error of
// code Invalid with every fault of name, email, language and
// max_waitlist_position.
func NewRegister(in RegisterInput) (Submission, error) {
	sub := Submission{
		ID: uuid.New(), Run: in.Run, Kind: Register, Notify: in.Notify, WaitlistLimit: in.WaitlistLimit,
		OutsideWindow: in.OutsideWindow, ByOrganiser: in.ByOrganiser || in.OutsideWindow, IdempotencyKey: in.IdempotencyKey,
	}
	if sub.ByOrganiser && sub.IdempotencyKey != "" {
		sub.IdempotencyKey = organiserKeyPrefix + sub.IdempotencyKey
	}
	var errs [4]error
	sub.Name, errs[0] = ParseName(in.Name)
	sub.Address, errs[1] = ParseAddress(in.Email)
	if in.Language != nil {
		sub.Language, errs[2] = ParseLanguage(*in.Language)
	}
	if l := in.WaitlistLimit; l != nil && (*l < 0 || *l > MaxCapacity) {
		errs[3] = FaultIn("max_waitlist_position", Invalid, "range", "must be a whole number from 0 to 1000000")
	}
	var faults []Fault
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			faults = append(faults, e.Faults...)
		}
	}
	if faults != nil {
		return Submission{}, &Error{Code: Invalid, Faults: faults}
	}
	return sub, nil
}

// MaxCapacity is the largest capacity of a run and of a waiting list.
const MaxCapacity = 1_000_000

// NewCancel returns the submission to cancel the registration with the ticket.
// All submissions to cancel one registration are one request.
func NewCancel(run string, target int64, byOrganiser bool) Submission {
	return Submission{
		ID: uuid.New(), Run: run, Kind: Cancel, Target: target, ByOrganiser: byOrganiser,
		IdempotencyKey: fmt.Sprintf("%scancel %d", internalKeyPrefix, target),
	}
}

// NewResize returns the submission to change the run's capacities, or an error
// of code Invalid.
func NewResize(run string, c Change) (Submission, error) {
	var faults []Fault
	for i, l := range []*Limit{c.Capacity, c.WaitlistCapacity} {
		if l != nil && l.Most != nil && (*l.Most < 0 || *l.Most > MaxCapacity) {
			faults = append(faults, Fault{[]string{"capacity", "waitlist_capacity"}[i], "range", "must be a whole number from 0 to 1000000, or null for no limit"})
		}
	}
	if faults != nil {
		return Submission{}, &Error{Code: Invalid, Faults: faults}
	}
	return Submission{ID: uuid.New(), Run: run, Kind: Resize, Change: c, ByOrganiser: true}, nil
}

// NewCloseWaitlist returns the submission to end the run's waiting list.
func NewCloseWaitlist(run string) Submission {
	return Submission{ID: uuid.New(), Run: run, Kind: CloseWaitlist, ByOrganiser: true}
}

// NewScheduledCloseWaitlist returns the submission to end the run's waiting
// list because its time has come. All such submissions for one run are one
// request.
func NewScheduledCloseWaitlist(run string) Submission {
	sub := NewCloseWaitlist(run)
	sub.IdempotencyKey, sub.ByOrganiser = internalKeyPrefix+"promote_until", false
	return sub
}

// NewCallOff returns the submission to call the run off.
func NewCallOff(run string) Submission {
	return Submission{ID: uuid.New(), Run: run, Kind: CallOff, ByOrganiser: true}
}
