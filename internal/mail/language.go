package mail

import (
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// wording is what all mails of a language have in common.
type wording struct {
	greeting, closing, open                  string
	course, when, where, name, state, ticket string // labels

	queued, confirmed, full, alreadyRegistered, rejected string // states

	weekdays [7]string  // from Sunday
	months   [12]string // from January
	date     string     // a format of weekday, day, month and year
	clock    string     // what follows a time of day
}

var words = map[enroll.Language]wording{
	enroll.English: {
		greeting: "Hello", closing: "Kind regards", open: "View your registration",
		course: "Course", when: "When", where: "Where", name: "Name", state: "Status", ticket: "Ticket number",
		queued:            "waiting for a decision",
		confirmed:         "confirmed",
		full:              "no seat left",
		alreadyRegistered: "not counted, since this e-mail address already has a seat",
		rejected:          "no seat",
		weekdays:          weekdays(),
		months:            months(),
		date:              "%s, %d %s %d",
	},
	enroll.German: {
		greeting: "Guten Tag", closing: "Mit freundlichen Grüßen", open: "Anmeldung ansehen",
		course: "Kurs", when: "Wann", where: "Wo", name: "Name", state: "Stand", ticket: "Ticketnummer",
		queued:            "wartet auf eine Entscheidung",
		confirmed:         "bestätigt",
		full:              "kein Platz mehr frei",
		alreadyRegistered: "nicht berücksichtigt, da diese E-Mail-Adresse bereits einen Platz hat",
		rejected:          "kein Platz",
		weekdays:          [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		months: [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni",
			"Juli", "August", "September", "Oktober", "November", "Dezember"},
		date:  "%s, %d. %s %d",
		clock: " Uhr",
	},
}

// status says how a registration stands.
func (w wording) status(r enroll.Registration) string {
	switch r.Status {
	case enroll.Queued:
		return w.queued
	case enroll.Confirmed:
		return w.confirmed
	case enroll.Rejected:
		switch r.Reason {
		case enroll.Full:
			return w.full
		case enroll.AlreadyRegistered:
			return w.alreadyRegistered
		}
		return w.rejected
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
