package enroll

import (
	"time"

	"github.com/google/uuid"
)

// MailState is the state of a mail in the outbox.
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

// OutboxMail is a mail in the outbox as organisers see it.
type OutboxMail struct {
	ID       uuid.UUID
	Run      string // the run's slug
	Ticket   int64
	Kind     MailKind
	Sequence int    // distinguishes mails of one kind about one registration
	To       string // the address; empty once a MailMistakenAddress has ended, since that erases it
	State    MailState
	Attempts int
	DueAt    time.Time
	NextAt   time.Time  // when it is tried next; zero unless pending
	EndedAt  time.Time  // when it was sent, failed or skipped; zero while pending
	Problem  string     // why the last attempt did not send it; see MailAttempt
	ToldBy   *uuid.UUID // the summary that told its news; nil = none
}

// MailQuery says which mails about a run's registrations to list.
type MailQuery struct {
	State   MailState // empty = any
	Ticket  int64     // about this registration only; 0 = about all, bounded by After and Tickets
	After   int64     // about tickets after this one
	Tickets int       // about at most this many tickets
}

// MailAttempt is how one attempt to send a mail ended.
type MailAttempt struct {
	State MailState     // MailPending: try again
	After time.Duration // when to try again
	// Problem is why the mail was not sent, in one line of at most 500
	// characters: the mail server's words, or a sentence if the server said
	// nothing. "" = it was sent.
	Problem string
	// Unanswered tells that the mail may have arrived nevertheless.
	Unanswered bool
}

// ClaimLimits bound the claim of a mail.
type ClaimLimits struct {
	Lease time.Duration // how long the attempt belongs to the caller
	// Pace is the time in which at most PaceRun mails about a run and
	// PaceAddress mails in all leave to one address; 0 = no limit.
	Pace time.Duration
}

// MailWaits are the longest times that a mail waits for its next look.
type MailWaits struct {
	Lease    time.Duration // while it is claimed
	RetryMin time.Duration // after its first attempt; twice that after the second, and so on, …
	RetryMax time.Duration // … up to this
	Held     time.Duration // for its turn: on the queue, or after other mails to the address
}

// MailPatience is how long a mail may wait before MailBacklog counts it as
// overdue.
const MailPatience = time.Hour

// MailBacklog is what waits in the whole outbox.
type MailBacklog struct {
	Pending int           // mails that wait
	Overdue int           // of these, mails that have waited longer than MailPatience
	Untried int           // of the overdue, mails without a single attempt
	Oldest  time.Duration // how long ago the oldest was due
}

// DueMail names a mail that waits to be sent, and says how it was found.
type DueMail struct {
	ID       uuid.UUID
	Attempts int       // made so far
	Replaced int       // how often its task was lost on the queue
	NextAt   time.Time // when it was due to be looked at
}
