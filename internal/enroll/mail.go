package enroll

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Language is the language of a mail.
type Language string

// The languages there are texts for.
const (
	English Language = "en"
	German  Language = "de"
)

// Languages lists them.
var Languages = []Language{English, German}

// ParseLanguage returns the language, or an error of code Invalid whose fault
// names the field "language".
func ParseLanguage(s string) (Language, error) {
	for _, l := range Languages {
		if s == string(l) {
			return l, nil
		}
	}
	return "", FaultIn("language", Invalid, "unknown", "must be en or de")
}

// MailKind is what a mail tells.
type MailKind string

// The kinds of mail. A kind has a line here and in mailRules, and a template of
// its name in internal/mail.
const (
	MailConfirmed         MailKind = "confirmed"          // you have a seat
	MailFull              MailKind = "full"               // you have none
	MailAlreadyRegistered MailKind = "already_registered" // you asked again: here is the registration you have
	MailWaitlisted        MailKind = "waitlisted"         // you have a place on the waiting list
	MailPromoted          MailKind = "promoted"           // you have a seat, from the waiting list
	MailNotPromoted       MailKind = "not_promoted"       // the waiting list has ended, and you have none
	MailCancelled         MailKind = "cancelled"          // you have given up your seat or place, or were removed
	MailCalledOff         MailKind = "called_off"         // the run does not take place
	MailReminder          MailKind = "reminder"           // the run begins soon
	MailLinks             MailKind = "links"              // you asked for the links of all your registrations
)

// mailRules says of each kind when it may be sent. What has been superseded by
// then is not: "confirmed" never arrives after "cancelled".
var mailRules = map[MailKind]struct {
	status      Status // what the registration must still be; "" = whatever it is
	reason      Reason // the same of its reason
	holds       bool   // it must still have a seat or a place
	beforeStart bool   // only until the run begins
}{
	MailConfirmed:         {status: Confirmed},
	MailFull:              {status: Rejected},
	MailAlreadyRegistered: {holds: true},
	MailWaitlisted:        {status: Waitlisted},
	MailPromoted:          {status: Confirmed},
	MailNotPromoted:       {status: NotPromoted},
	MailCancelled:         {status: Cancelled},
	MailCalledOff:         {reason: RunCalledOff},
	MailReminder:          {status: Confirmed, beforeStart: true},
	MailLinks:             {},
}

// MailKinds returns all kinds, in no order.
func MailKinds() []MailKind {
	kinds := make([]MailKind, 0, len(mailRules))
	for k := range mailRules {
		kinds = append(kinds, k)
	}
	return kinds
}

// Enrolment is a registration with the name in it and the run it is for: what a
// mail or a calendar entry tells.
type Enrolment struct {
	Registration
	Name Name
	For  Run
}

// Mail is a message of the outbox, as it reads now.
type Mail struct {
	ID       uuid.UUID // of the outbox row; no credential
	Kind     MailKind
	Attempt  int // of sending it, from 1
	To       Address
	Language Language
	DueAt    time.Time // when what it tells happened
	Now      time.Time // when this was read
	// About is what it tells of: one registration, or for MailLinks those of the
	// address, at least one, the newest first.
	About []Enrolment
	More  bool // the address has older ones, too
}

// Superseded tells whether the mail no longer says how things are, or is about
// nothing that is still there.
func (m Mail) Superseded() bool {
	if len(m.About) == 0 {
		return true
	}
	rule := mailRules[m.Kind]
	for _, e := range m.About {
		if rule.status != "" && e.Status != rule.status || rule.reason != "" && e.Reason != rule.reason {
			return true
		}
		if rule.holds && e.Status != Confirmed && e.Status != Waitlisted {
			return true
		}
		if rule.beforeStart && !m.Now.Before(e.For.StartsAt) {
			return true
		}
	}
	return false
}

// MailState is where a mail stands.
type MailState string

// The states of a mail.
const (
	MailPending MailState = "pending" // it waits to be sent, or to be tried again
	MailSent    MailState = "sent"    // the mail server took it
	MailFailed  MailState = "failed"  // the mail server refused it for good, or for too long
	MailSkipped MailState = "skipped" // something that happened later superseded it
)

// ParseMailState returns the state, or an error of code Invalid whose fault
// names the field "state".
func ParseMailState(s string) (MailState, error) {
	switch state := MailState(s); state {
	case MailPending, MailSent, MailFailed, MailSkipped:
		return state, nil
	}
	return "", FaultIn("state", Invalid, "unknown", "must be pending, sent, failed or skipped")
}

// OutboxMail is a mail in the outbox as an organiser sees it.
type OutboxMail struct {
	ID       uuid.UUID
	Run      string // the run's slug
	Ticket   int64
	Kind     MailKind
	Sequence int // tells those of one kind about one registration apart
	To       string
	State    MailState
	Attempts int
	DueAt    time.Time
	NextAt   time.Time // when it is tried next; zero unless pending
	EndedAt  time.Time // when it was sent, failed or skipped; zero while pending
	Problem  string    // why it was not sent the last time it was tried: see MailAttempt
}

// MailQuery says which mails about the registrations of a run are asked for.
type MailQuery struct {
	State   MailState // empty = in any
	Ticket  int64     // of this registration only; 0 = of all, and then …
	After   int64     // … of tickets after this one, …
	Tickets int       // … of at most so many
}

// MailAttempt is how one attempt to send a mail ended.
type MailAttempt struct {
	State MailState     // MailPending: try again
	After time.Duration // when to try again
	// Problem is why it was not sent: the mail server's words in one line, or
	// where it said nothing a plain sentence; at most 500 characters. "" = it was.
	Problem string
}

// DueMail names a mail that waits to be sent.
type DueMail struct {
	ID       uuid.UUID
	Attempts int // made so far
}

// SendError says why a mail was not sent. Its text holds nothing of the mail;
// Reply may, since servers quote addresses: it is for the organiser and must not
// be logged.
type SendError struct {
	// Code is MailRefused (for good), MailDeferred (this mail, for now),
	// Unavailable (the server takes no mail at all now) or Internal (a defect).
	Code   Code
	Status int    // the server's reply code, 0 = there was none
	Reply  string // the server's words, as they came
	// Unanswered tells that the whole mail was handed over and no answer came: it
	// may have been delivered.
	Unanswered bool
	Err        error // the cause, without a word of the server; nil if that is all
}

func (e *SendError) Error() string {
	text := string(e.Code)
	if e.Status != 0 {
		text += fmt.Sprintf(": the mail server answered %d", e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }
