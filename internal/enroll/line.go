package enroll

import "time"

// LineEntry is a request as it stands in a run's line.
type LineEntry struct {
	Ticket      int64
	Kind        Kind
	Status      Status
	Reason      Reason
	AcceptedAt  time.Time
	DecidedAt   time.Time // zero while queued
	ChangedAt   time.Time // when a later request changed the status; zero = never
	Name        Name      // of Register
	Email       string    // of Register, as it was typed
	Target      int64     // of Cancel: the registration's ticket
	ByOrganiser bool
	Change      Change // of Resize
}

// Bundle is the range of tickets that one accepting transaction issued in one
// run's line.
type Bundle struct {
	RunID RunID
	Run   string // the run's slug
	First int64
	Last  int64
}

// Backlog is a line whose first undecided request has been waiting.
type Backlog struct {
	RunID   RunID
	Run     string        // the run's slug
	Age     time.Duration // since that request was accepted; negative if the clock was set back
	Settled int64         // the last ticket before it
}

// OlderThan tells whether that request has waited for at least age. A request
// from the future counts as older, because its true age is unknown.
func (b Backlog) OlderThan(age time.Duration) bool { return b.Age >= age || b.Age < 0 }
