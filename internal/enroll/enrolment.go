package enroll

import "time"

// LastTold is what a registration was last told by mail: by the last one that was
// sent to its address and told how it stands.
type LastTold struct {
	Status Status    // "" = no mail has told it anything
	At     time.Time // when that mail left; zero = none has
	// Schedule is when and where the run was said to take place; if no mail has
	// said it, then when and where it was to take place at the time of the request.
	Schedule Schedule
	// Seat tells that a mail which may have arrived told of a seat, whatever was told
	// after it.
	Seat bool
	// Entry tells that the calendar entry may stand in the person's calendar.
	Entry bool
}

// Enrolment is a registration with the name in it and the run it is for: what a
// mail or a calendar entry tells.
type Enrolment struct {
	Registration
	Name     Name
	For      Run
	LastTold LastTold // before this mail
	Seated   bool     // it has a seat, or had one: a calendar may have its entry
	// AskedFor are the other names for which the address has asked again lately, of
	// a registration that MailAlreadyRegistered is about.
	AskedFor []Name
}

// Moved tells whether the person was told another time or location by mail than
// the run has now.
func (e Enrolment) Moved() bool {
	return e.LastTold.Status != "" && !e.LastTold.Schedule.Equal(e.For.Schedule())
}
