package enroll

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Application is a validated request that has not been accepted yet.
type Application struct {
	ID   uuid.UUID // the request's id if it is accepted
	Run  string    // the run's slug
	Kind Kind

	// Of Register.
	Name          Name
	Address       Address
	Language      Language // of the mails; empty = the run's
	Notify        bool     // a refusal is told by mail, too
	WaitlistLimit *int     // the last place on the waiting list that is wanted; 0 = a seat or nothing, nil = any
	OutsideWindow bool     // accepted outside of the registration window, too; only with ByOrganiser

	// Of Cancel.
	Target int64     // the registration's ticket
	Shown  uuid.UUID // the registration's id, by which the person asks; zero = no person does

	// Of Resize.
	Change Change

	// ByOrganiser tells that an organiser asked: a Cancel is accepted after the run
	// has begun, too.
	ByOrganiser bool

	// IdempotencyKey makes a second application for the run with it the first one;
	// empty = none. It is the client's, an organiser's or one of ours; the latter two
	// no client can send.
	IdempotencyKey string
	// Digest is that of a Register with an IdempotencyKey.
	Digest Digest
}

// Clients' keys are ASCII. What begins with one of these no client can send.
const (
	ours        = "·"                 // of an IdempotencyKey that Lastseat makes itself
	ofOrganiser = ours + "organiser " // of an organiser's: the public has other keys
)

// Wish is an Application of kind Register as somebody wrote it.
type Wish struct {
	Run, Name, Email string
	Language         *string // nil = the run's
	Notify           bool
	WaitlistLimit    *int
	OutsideWindow    bool   // accepted outside of the registration window, too: an organiser's right
	ByOrganiser      bool   // an organiser asks
	IdempotencyKey   string // empty = none
}

// Apply returns the application for a seat, with a new id, or an error of code
// Invalid with every fault of name, email, language and max_waitlist_position.
func Apply(w Wish) (Application, error) {
	a := Application{
		ID: uuid.New(), Run: w.Run, Kind: Register, Notify: w.Notify, WaitlistLimit: w.WaitlistLimit,
		OutsideWindow: w.OutsideWindow, ByOrganiser: w.ByOrganiser || w.OutsideWindow, IdempotencyKey: w.IdempotencyKey,
	}
	if a.ByOrganiser && a.IdempotencyKey != "" {
		a.IdempotencyKey = ofOrganiser + a.IdempotencyKey
	}
	var errs [4]error
	a.Name, errs[0] = ParseName(w.Name)
	a.Address, errs[1] = ParseAddress(w.Email)
	if w.Language != nil {
		a.Language, errs[2] = ParseLanguage(*w.Language)
	}
	if l := w.WaitlistLimit; l != nil && (*l < 0 || *l > MaxPlaces) {
		errs[3] = FaultIn("max_waitlist_position", Invalid, "range", "must be a whole number from 0 to 1000000")
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

// MaxPlaces is the largest capacity of a run and of a waiting list.
const MaxPlaces = 1_000_000

// ApplyCancel returns the application to cancel the registration with the
// ticket. A second one for the same registration is the first one again.
func ApplyCancel(run string, target int64, byOrganiser bool) Application {
	return Application{
		ID: uuid.New(), Run: run, Kind: Cancel, Target: target, ByOrganiser: byOrganiser,
		IdempotencyKey: fmt.Sprintf("%scancel %d", ours, target),
	}
}

// ApplyResize returns the application to change the run's capacities, or an
// error of code Invalid.
func ApplyResize(run string, c Change) (Application, error) {
	var faults []Fault
	for i, l := range []*Limit{c.Capacity, c.WaitlistCapacity} {
		if l != nil && l.Most != nil && (*l.Most < 0 || *l.Most > MaxPlaces) {
			faults = append(faults, Fault{[]string{"capacity", "waitlist_capacity"}[i], "range", "must be null, for no limit, or a whole number from 0 to 1000000"})
		}
	}
	if faults != nil {
		return Application{}, &Error{Code: Invalid, Faults: faults}
	}
	return Application{ID: uuid.New(), Run: run, Kind: Resize, Change: c, ByOrganiser: true}, nil
}

// ApplyCloseWaitlist returns the application to end the run's waiting list.
func ApplyCloseWaitlist(run string) Application {
	return Application{ID: uuid.New(), Run: run, Kind: CloseWaitlist, ByOrganiser: true}
}

// ApplyPromoteUntil returns the application to end the waiting list because its
// time has come. Any number of them is one.
func ApplyPromoteUntil(run string) Application {
	a := ApplyCloseWaitlist(run)
	a.IdempotencyKey, a.ByOrganiser = ours+"promote_until", false
	return a
}

// ApplyCallOff returns the application to call the run off.
func ApplyCallOff(run string) Application {
	return Application{ID: uuid.New(), Run: run, Kind: CallOff, ByOrganiser: true}
}

// Receipt is what an accepted application got.
type Receipt struct {
	Registration // of another kind than Register it is the request as such
	// What stands in the line. It is what the application said, unless Again.
	Kind          Kind
	Name          Name
	Email         string
	Language      Language
	Notify        bool
	WaitlistLimit *int
	Target        int64
	Digest        Digest // empty = it is compared by the above
	Again         bool   // an earlier application with the same IdempotencyKey got it
	Corrected     bool   // its address was corrected since, and its id is another one
}

// ReceiptFor returns the receipt for an application that got the registration.
func ReceiptFor(a Application, r Registration) Receipt {
	return Receipt{
		Registration: r, Kind: a.Kind, Name: a.Name, Email: a.Address.Typed, Language: a.Language, Notify: a.Notify,
		WaitlistLimit: a.WaitlistLimit, Target: a.Target, Digest: a.Digest,
	}
}

// For returns what the receipt means for an application: itself, or an error of
// code KeyReused if the application says something else than what it was written
// for, and of code Corrected if that has another address by now. Corrected
// without a digest, it no longer shows what was said: then nobody who asks again
// gets the registration.
func (r Receipt) For(a Application) (Receipt, error) {
	switch compared := r.Digest.known(); {
	case r.Again && !r.Says(a) && (compared || !r.Corrected):
		return Receipt{}, ErrKeyReused
	case r.Corrected:
		return Receipt{}, ErrCorrected
	}
	return r, nil
}

// Says tells whether what stands in the line is what the application says.
func (r Receipt) Says(a Application) bool {
	if r.Digest.known() && a.Digest.known() {
		return r.Digest == a.Digest
	}
	sameLimit := (r.WaitlistLimit == nil) == (a.WaitlistLimit == nil) && (r.WaitlistLimit == nil || *r.WaitlistLimit == *a.WaitlistLimit)
	return r.Kind == a.Kind && r.Name == a.Name && r.Email == a.Address.Typed && r.Language == a.Language && r.Notify == a.Notify &&
		sameLimit && r.Target == a.Target
}
