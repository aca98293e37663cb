package enroll

import (
	"time"

	"github.com/google/uuid"
)

// MailKind is what a mail tells.
type MailKind string

// The kinds of mail. Each has a line here, a line in mailRules, and a template
// of its name in internal/mail.
const (
	MailConfirmed         MailKind = "confirmed"          // you have a seat
	MailFull              MailKind = "full"               // no seat is left
	MailAlreadyRegistered MailKind = "already_registered" // you asked again: here is the registration you have
	MailWaitlisted        MailKind = "waitlisted"         // you have a place on the waiting list
	MailPromoted          MailKind = "promoted"           // you have a seat, from the waiting list
	MailNotPromoted       MailKind = "not_promoted"       // the waiting list has ended, and you have no seat
	MailCancelled         MailKind = "cancelled"          // you have given up your seat or place, or were removed
	MailCalledOff         MailKind = "called_off"         // the run does not take place
	MailChanged           MailKind = "changed"            // time, zone or location of the run have changed
	MailReminder          MailKind = "reminder"           // the run begins soon
	MailSummary           MailKind = "summary"            // how all your registrations for the run stand
	MailMistakenAddress   MailKind = "mistaken_address"   // your address was entered by mistake and has been replaced
	MailLinks             MailKind = "links"              // you asked for the links of all your registrations
)

// mailRule says when a kind of mail may be sent. A superseded mail is not sent,
// so "confirmed" never arrives after "cancelled".
type mailRule struct {
	status Status // the status that the registration must still have; "" = any
	reason Reason // the reason that it must still have; "" = any
	holds  bool   // whether it must still have a seat or a place
	until  deadline
	// tells says that the mail states status and schedule, so that it counts as
	// what the registration was last told.
	tells bool
	// paced says that PaceRun bounds the kind.
	paced bool
}

// deadline is when a kind of mail stops making sense.
type deadline struct {
	of     func(Mail, Enrolment) time.Time // zero = for ever
	passed string                          // why it is too late then
}

var (
	untilStart   = deadline{func(_ Mail, e Enrolment) time.Time { return e.For.StartsAt }, "the run has begun"}
	untilEnd     = deadline{func(_ Mail, e Enrolment) time.Time { return e.For.EndsAt }, "the run is over"}
	untilListEnd = deadline{func(_ Mail, e Enrolment) time.Time { return e.For.ListEndsAt() }, "the waiting list has ended"}
	// A receipt stays true, but after a while nobody needs it.
	untilWeekAfter = deadline{func(m Mail, _ Enrolment) time.Time { return m.DueAt.AddDate(0, 0, 7) }, "it happened more than a week ago"}
	untilDayAfter  = deadline{func(m Mail, _ Enrolment) time.Time { return m.DueAt.AddDate(0, 0, 1) }, "it was requested more than a day ago"}
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

// The pace is how many mails leave to one address within mail.pace, ten minutes
// by default.
const (
	PaceRun     = 2  // about one run; further mails about it become one summary
	PaceAddress = 20 // in all; further mails wait
)

// MailKinds returns all kinds, in no order.
func MailKinds() []MailKind { return kindsThat(func(mailRule) bool { return true }) }

// TellingKinds returns the kinds that state status and schedule, in no order.
func TellingKinds() []MailKind { return kindsThat(func(r mailRule) bool { return r.tells }) }

// PacedKinds returns the kinds that PaceRun bounds, in no order.
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

// Mail is a mail of the outbox with everything that it tells as of Now.
type Mail struct {
	ID       uuid.UUID // of the outbox row; not a credential
	Kind     MailKind
	Attempt  int // to send it, from 1
	To       Address
	Language Language
	DueAt    time.Time // when what it tells happened
	Now      time.Time // when this was read
	// About are the registrations that the mail is about: for MailSummary all
	// of the address in one run, for MailLinks those of the address, newest
	// first, and for other kinds exactly one.
	About []Enrolment
	More  bool // the address also has older ones
	// Joined has, for MailSummary, the kinds of the mails that it replaces, each with
	// the time at which the latest was due.
	Joined map[MailKind]time.Time
	// Outdated tells that the registration no longer has the address that the
	// mail was begun for, or for an apology that it has that address again.
	Outdated bool
}

// Superseded tells whether what the mail says no longer holds, is no news, or
// is about registrations that no longer exist.
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
		if m.Kind == MailChanged && e.LastTold.Schedule.Equal(e.For.Schedule()) {
			return true
		}
	}
	return false
}

// Overdue returns why it is too late for the mail, or "" if it is not.
func (m Mail) Overdue() string {
	for _, e := range m.About {
		if end, passed := m.deadline(e); !end.IsZero() && !m.Now.Before(end) {
			return passed
		}
	}
	return ""
}

// deadline returns the time until which the mail makes sense for the registration,
// zero for ever, and what has happened by then. A summary makes sense as long as any
// of the mails that joined it would.
func (m Mail) deadline(e Enrolment) (end time.Time, passed string) {
	if m.Kind != MailSummary || len(m.Joined) == 0 {
		until := mailRules[m.Kind].until
		return until.of(m, e), until.passed
	}
	for kind, dueAt := range m.Joined {
		joined, what := Mail{Kind: kind, DueAt: dueAt}.deadline(e)
		if joined.IsZero() {
			return joined, ""
		}
		if joined.After(end) {
			end, passed = joined, what
		}
	}
	return end, passed
}

// Obsolete returns why the mail must not be sent any more, or "" if it may be.
func (m Mail) Obsolete() string {
	if m.Superseded() {
		return "superseded: what it says no longer holds or has been told since"
	}
	if passed := m.Overdue(); passed != "" {
		return "overdue: " + passed
	}
	return ""
}
