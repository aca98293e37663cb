package mail

import (
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// wording holds the words that all mails in a language share.
type wording struct {
	greeting, closing, open                  string
	course, when, where, name, state, ticket string // labels
	registered, notRegistered                string // labels of the registered name, and of names for which the address was used again

	place                            string // the label of a place on the waiting list
	whenBefore, whereBefore, nowhere string // labels of the previous time and location, and the value for no location

	queued, confirmed, waitlisted, full, alreadyRegistered, rejected, cancelled, calledOff, notPromoted string // states

	weekdays [7]string  // from Sunday
	months   [12]string // from January
	date     string     // a format of weekday, day, month and year
	clock    string     // the suffix of a time of day
}

var words = map[enroll.Language]wording{
	enroll.English: {
		greeting: "Hello", closing: "Kind regards", open: "View your registration",
		course: "Course", when: "When", where: "Where", name: "Name", state: "Status", ticket: "Ticket number",
		registered:        "Registered",
		notRegistered:     "Not registered",
		queued:            "not decided yet",
		place:             "Place on the waiting list",
		whenBefore:        "Previous time",
		whereBefore:       "Previous location",
		nowhere:           "not announced yet",
		confirmed:         "confirmed",
		waitlisted:        "on the waiting list",
		cancelled:         "cancelled",
		calledOff:         "called off",
		notPromoted:       "no seat; the waiting list has ended",
		full:              "no seat left",
		alreadyRegistered: "not counted, because this e-mail address was already registered",
		rejected:          "no seat",
		weekdays:          weekdays(),
		months:            months(),
		date:              "%s, %d %s %d",
	},
	enroll.German: {
		greeting: "Guten Tag", closing: "Mit freundlichen Grüßen", open: "Anmeldung ansehen",
		course: "Kurs", when: "Wann", where: "Wo", name: "Name", state: "Status", ticket: "Ticketnummer",
		registered:        "Angemeldet",
		notRegistered:     "Nicht angemeldet",
		queued:            "noch nicht entschieden",
		place:             "Platz auf der Warteliste",
		whenBefore:        "Bisheriger Termin",
		whereBefore:       "Bisheriger Ort",
		nowhere:           "noch nicht bekannt gegeben",
		confirmed:         "bestätigt",
		waitlisted:        "auf der Warteliste",
		cancelled:         "storniert",
		calledOff:         "Termin fällt aus",
		notPromoted:       "kein Platz; die Warteliste ist beendet",
		full:              "kein Platz mehr frei",
		alreadyRegistered: "nicht berücksichtigt, da diese E-Mail-Adresse bereits angemeldet war",
		rejected:          "kein Platz",
		weekdays:          [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		months: [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni",
			"Juli", "August", "September", "Oktober", "November", "Dezember"},
		date:  "%s, %d. %s %d",
		clock: " Uhr",
	},
}

// status returns a registration's status in words.
func (w wording) status(r enroll.Registration) string {
	switch {
	case r.Reason == enroll.RunCalledOff:
		return w.calledOff
	case r.Reason == enroll.Full:
		return w.full
	case r.Reason == enroll.AlreadyRegistered:
		return w.alreadyRegistered
	}
	switch r.Status {
	case enroll.Queued:
		return w.queued
	case enroll.Confirmed:
		return w.confirmed
	case enroll.Waitlisted:
		return w.waitlisted
	case enroll.Rejected:
		return w.rejected
	case enroll.Cancelled:
		return w.cancelled
	case enroll.NotPromoted:
		return w.notPromoted
	case enroll.Done: // registrations do not have it
	}
	return string(r.Status)
}

func weekdays() (names [7]string) {
	for i := range names {
		names[i] = time.Weekday(i).String()
	}
	return names
}

func months() (names [12]string) {
	for i := range names {
		names[i] = time.Month(i + 1).String()
	}
	return names
}
