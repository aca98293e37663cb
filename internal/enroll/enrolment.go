package enroll

import "time"

// LastTold is what a registration's person was told by the last mail that told
// how it stands and that went to its present address.
type LastTold struct {
	Status Status    // "" = no mail has told anything
	At     time.Time // when that mail left; zero = no mail has
	// Schedule is the schedule in that mail. If no mail has told one, it is the
	// run's schedule when the request was accepted.
	Schedule Schedule
	// Seat tells that a mail which may have arrived told of a seat, even if a
	// later mail took it back.
	Seat bool
	// Entry tells that the person's calendar may hold the entry.
	Entry bool
}

// Enrolment is a registration with its name and its run: what a mail or a
// calendar entry tells.
type Enrolment struct {
	Registration
	Name     Name
	For      Run
	LastTold LastTold // before this mail
	Seated   bool     // it has or had a seat, so a calendar may hold its entry
	// AskedFor are the other names for which the address has asked lately. It
	// is set for the registration that a MailAlreadyRegistered is about.
	AskedFor []Name
}

// Moved tells whether a mail told the person another schedule than the run has
// now.
func (e Enrolment) Moved() bool {
	return e.LastTold.Status != "" && !e.LastTold.Schedule.Equal(e.For.Schedule())
}
