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
	MailChanged           MailKind = "changed"            // time, zone or place of the run have changed
	MailReminder          MailKind = "reminder"           // the run begins soon
	MailSummary           MailKind = "summary"            // how all your registrations for the run stand
	MailMistakenAddress   MailKind = "mistaken_address"   // your address was entered by mistake, and is replaced
	MailLinks             MailKind = "links"              // you asked for the links of all your registrations
)

// mailRule says when a kind of mail may be sent. A mail that has been superseded
// is not: "confirmed" never arrives after "cancelled".
type mailRule struct {
	status Status // what the registration must still be; "" = whatever it is
	reason Reason // the same of its reason
	holds  bool   // it must still have a seat or a place
	until  deadline
	// tells: the person learns from it how the registration stands, when and
	// where, so it counts as what the registration was last told.
	tells bool
	// paced: an address gets only so many about one run in a while; see PaceRun.
	paced bool
}

// deadline is until when a kind of mail makes sense.
type deadline struct {
	of     func(Mail, Enrolment) time.Time // zero = for ever
	passed string                          // what has happened by then
}

var (
	untilStart   = deadline{func(_ Mail, e Enrolment) time.Time { return e.For.StartsAt }, "the run has begun"}
	untilEnd     = deadline{func(_ Mail, e Enrolment) time.Time { return e.For.EndsAt }, "the run is over"}
	untilListEnd = deadline{func(_ Mail, e Enrolment) time.Time { return e.For.ListEndsAt() }, "the waiting list has ended"}
	// A receipt stays true, and of no use to anybody after a while.
	untilWeekAfter = deadline{func(m Mail, _ Enrolment) time.Time { return m.DueAt.AddDate(0, 0, 7) }, "it happened more than a week ago"}
	untilDayAfter  = deadline{func(m Mail, _ Enrolment) time.Time { return m.DueAt.AddDate(0, 0, 1) }, "it was asked for more than a day ago"}
)

var mailRules = map[MailKind]mailRule{
	MailConfirmed:         {status: Confirmed, until: untilEnd, tells: true, paced: true},
	MailFull:              {status: Rejected, until: untilEnd, tells: true, paced: true},
	MailAlreadyRegistered: {holds: true, until: untilEnd, paced: true},
	MailWaitlisted:        {status: Waitlisted, until: untilListEnd, tells: true, paced: true},
	MailPromoted:          {status: Confirmed, until: untilEnd, tells: true, paced: true},
	MailNotPromoted:       {status: NotPromoted, until: untilEnd, tells: true, paced: true},
	MailCancelled:         {status: Cancelled, until: untilWeekAfter, tells: true, paced: true},
	MailCalledOff:         {reason: RunCalledOff, until: untilEnd, tells: true, paced: true},
	MailChanged:           {holds: true, until: untilEnd, tells: true, paced: true},
	MailReminder:          {status: Confirmed, until: untilStart, tells: true, paced: true},
	MailSummary:           {until: untilEnd, tells: true, paced: true},
	MailMistakenAddress:   {until: untilWeekAfter},
	MailLinks:             {until: untilDayAfter},
}

// What leaves to one address within a while, by default ten minutes: so many
// mails about one run, further ones become one summary, and so many mails in all.
const (
	PaceRun     = 2
	PaceAddress = 20
)

// MailKinds returns all kinds, in no order.
func MailKinds() []MailKind { return kindsThat(func(mailRule) bool { return true }) }

// TellingKinds returns the kinds by which a person learns how the registration
// stands, when and where, in no order.
func TellingKinds() []MailKind { return kindsThat(func(r mailRule) bool { return r.tells }) }

// PacedKinds returns the kinds of which an address gets only so many about one
// run in a while, in no order.
func PacedKinds() []MailKind { return kindsThat(func(r mailRule) bool { return r.paced }) }

func kindsThat(is func(mailRule) bool) []MailKind {
	var kinds []MailKind
	for k, rule := range mailRules {
		if is(rule) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Schedule is when and where a run takes place.
type Schedule struct {
	StartsAt, EndsAt time.Time
	TimeZone         string // IANA name
	Place            string
}

// Equal tells whether both say the same.
func (s Schedule) Equal(o Schedule) bool {
	return s.StartsAt.Equal(o.StartsAt) && s.EndsAt.Equal(o.EndsAt) && s.TimeZone == o.TimeZone && s.Place == o.Place
}

// Told is what a registration was last told by mail: by the last one that was
// sent to its address and told how it stands.
type Told struct {
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
	Name   Name
	For    Run
	Told   Told // before this mail
	Seated bool // it has a seat, or had one: a calendar may have its entry
	// AskedFor are the other names for which the address has asked again lately, of
	// a registration that MailAlreadyRegistered is about.
	AskedFor []Name
}

// Moved tells whether the person was told another time or place by mail than
// the run has now.
func (e Enrolment) Moved() bool {
	return e.Told.Status != "" && !e.Told.Schedule.Equal(e.For.Schedule())
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
	// About is what it tells of: one registration; for MailSummary those of the
	// address in one run; for MailLinks those of the address, the newest first.
	// There is at least one.
	About []Enrolment
	More  bool // the address has older ones, too
	// Outdated tells that the mail was begun for an address that is no longer the
	// registration's, or is to apologise to one that is its again.
	Outdated bool
}

// Superseded tells whether the mail no longer says how things are, says nothing
// new, or is about nothing that is still there.
func (m Mail) Superseded() bool {
	if len(m.About) == 0 || m.Outdated {
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
		if m.Kind == MailChanged && e.Told.Schedule.Equal(e.For.Schedule()) {
			return true
		}
	}
	return false
}

// Overdue returns what has happened since which the mail makes no sense, and ""
// as long as it makes some.
func (m Mail) Overdue() string {
	until := mailRules[m.Kind].until
	for _, e := range m.About {
		if end := until.of(m, e); !end.IsZero() && !m.Now.Before(end) {
			return until.passed
		}
	}
	return ""
}

// Obsolete returns why the mail is not to be sent any more, and "" if it is.
func (m Mail) Obsolete() string {
	if m.Superseded() {
		return "superseded: what it says no longer holds, or was told meanwhile"
	}
	if passed := m.Overdue(); passed != "" {
		return "overdue: " + passed
	}
	return ""
}

// MailState is where a mail stands.
type MailState string

// The states of a mail.
const (
	MailPending MailState = "pending" // it waits to be sent, or to be tried again
	MailSent    MailState = "sent"    // the mail server took it
	MailFailed  MailState = "failed"  // the mail server refused it for good, or for too long
	MailSkipped MailState = "skipped" // it was superseded, came too late, or a summary tells it: see Problem
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
	Sequence int    // tells those of one kind about one registration apart
	To       string // empty = the address of a MailMistakenAddress that has ended: it is erased
	State    MailState
	Attempts int
	DueAt    time.Time
	NextAt   time.Time  // when it is tried next; zero unless pending
	EndedAt  time.Time  // when it was sent, failed or skipped; zero while pending
	Problem  string     // why it was not sent the last time it was tried: see MailAttempt
	ToldBy   *uuid.UUID // the summary that tells it; nil = none
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
	// Unanswered tells that the mail may have arrived all the same.
	Unanswered bool
}

// MailTerms are what claiming a mail is held to.
type MailTerms struct {
	Lease time.Duration // for how long the attempt is the caller's
	// Pace is the time in which no more than PaceRun mails about a run and
	// PaceAddress mails in all leave to one address; 0 = any number may.
	Pace time.Duration
}

// MailPatience is how long a mail may wait to be sent before it counts as
// overdue.
const MailPatience = time.Hour

// MailBacklog is what waits in the whole outbox.
type MailBacklog struct {
	Pending int           // mails that wait
	Overdue int           // of them, for longer than MailPatience
	Untried int           // of those, without a single attempt
	Oldest  time.Duration // since when the oldest has been due
}

// DueMail names a mail that waits to be sent, and says how it was found.
type DueMail struct {
	ID       uuid.UUID
	Attempts int       // made so far
	Replaced int       // how often its task was lost on the queue
	NextAt   time.Time // when it was to be looked at
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
