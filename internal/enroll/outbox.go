package enroll

import (
	"time"

	"github.com/google/uuid"
)

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

// ClaimLimits bound the claim of a mail.
type ClaimLimits struct {
	Lease time.Duration // for how long the attempt is the caller's
	// Pace is the time in which no more than PaceRun mails about a run and
	// PaceAddress mails in all leave to one address; 0 = any number may.
	Pace time.Duration
}

// MailWaits are the longest times that a mail waits for its next look.
type MailWaits struct {
	Lease    time.Duration // while it is claimed
	RetryMin time.Duration // after its first attempt; twice that after the second, and so on, …
	RetryMax time.Duration // … up to this
	Held     time.Duration // for its turn: on the queue, or after other mails to the address
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
