package enroll

import (
	"time"

	"github.com/google/uuid"
)

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
	MailChanged           MailKind = "changed"            // time, zone or location of the run have changed
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
	// Joined has, for MailSummary, the kinds of the mails that it takes the place of,
	// each with the time at which the latest was due.
	Joined map[MailKind]time.Time
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
		if m.Kind == MailChanged && e.LastTold.Schedule.Equal(e.For.Schedule()) {
			return true
		}
	}
	return false
}

// Overdue returns what has happened since which the mail makes no sense, and ""
// as long as it makes some.
func (m Mail) Overdue() string {
	for _, e := range m.About {
		if end, passed := m.deadline(e); !end.IsZero() && !m.Now.Before(end) {
			return passed
		}
	}
	return ""
}

// deadline returns until when the mail makes sense for the registration, zero for
// ever, and what has happened by then. A summary makes sense as long as any of the
// mails that joined it would.
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

// Obsolete returns why the mail is not to be sent any more, and "" if it is.
func (m Mail) Obsolete() string {
	if m.Superseded() {
		return "superseded: what it says no longer holds or has been told since"
	}
	if passed := m.Overdue(); passed != "" {
		return "overdue: " + passed
	}
	return ""
}
