// Package doctor finds what is wrong in a ledger: it knows the rules that runs,
// lines, seats and waiting lists keep, and settles whole lines again to see
// whether the outcomes are those that the line comes to.
//
// It is pure but for Visit, which asks a Ledger. It must not know how anything
// is stored, and what it says names runs and tickets only: no names, addresses or
// ids of registrations.
package doctor

import "fmt"

// Code names a kind of finding, for programs. It is stable.
type Code string

// The codes: of a run, of a line, of its requests, of the installation.
const (
	AttendancesCount Code = "attendances_count" // is not the number of seats
	WaitingCount     Code = "waiting_count"     // is not the number of people on the waiting list
	Capacity         Code = "capacity"          // is not what the line comes to
	WaitlistCapacity Code = "waitlist_capacity" // the same
	WaitlistEnded    Code = "waitlist_ended"    // the same
	CalledOff        Code = "called_off"        // the same
	WaitlistOverdue  Code = "waitlist_overdue"  // the list should have ended by itself

	TimeZone Code = "time_zone" // of a run: no such zone
	ReplyTo  Code = "reply_to"  // of a course: no address
	Text     Code = "text"      // of a run or its course: no line that mails and calendars can show

	NoLine         Code = "no_line"
	Hole           Code = "hole"             // tickets are missing
	LastTicket     Code = "last_ticket"      // is not that of the last request
	LastAcceptedAt Code = "last_accepted_at" // lies before that of the last request
	SettledTicket  Code = "settled_ticket"   // lies beyond the end of the line
	LineBehind     Code = "line_behind"      // the next request has waited for long
	RowHeld        Code = "row_held"         // somebody holds a row that accepting or settling needs

	AcceptedAt    Code = "accepted_at" // runs backwards
	Undecided     Code = "undecided"   // up to settled_ticket
	DecidedEarly  Code = "decided_early"
	SeatMissing   Code = "seat_missing"
	SeatUnearned  Code = "seat_unearned"
	PlaceMissing  Code = "place_missing"
	PlaceUnearned Code = "place_unearned"
	OtherAddress  Code = "other_address"  // the seat or the place is another address's
	SeatAndPlace  Code = "seat_and_place" // somebody has both
	OutcomeDiffer Code = "outcome"        // settling the line again comes to another

	MailsWaiting      Code = "mails_waiting"
	AsyncStandby      Code = "async_standby"
	Fsync             Code = "fsync"
	FullPageWrites    Code = "full_page_writes"
	SynchronousCommit Code = "synchronous_commit"
)

// Finding is one thing that is wrong.
type Finding struct {
	Run        string `json:"run,omitempty"` // the slug; empty = of the installation
	Code       Code   `json:"code"`
	Ticket     int64  `json:"ticket,omitempty"`     // 0 = of none
	More       int    `json:"more,omitempty"`       // it stands for so many like those that are listed
	Warning    bool   `json:"warning,omitempty"`    // nothing is wrong yet
	Repairable bool   `json:"repairable,omitempty"` // there is one right answer
	Text       string `json:"text"`
	blocks     bool   // the line cannot get on
}

// String returns the finding in words.
func (f Finding) String() string {
	switch {
	case f.Run != "":
		return fmt.Sprintf("run %s: %s", f.Run, f.Text)
	case f.Warning:
		return "warning: " + f.Text
	default:
		return f.Text
	}
}

// listed is how many findings of one kind are listed for a run.
const listed = 10

// findings collects what is wrong with one run.
type findings struct {
	run   string
	found []Finding
	count map[Code]int
}

// add adds a finding about a ticket, or about none (0).
func (f *findings) add(code Code, ticket int64, format string, args ...any) *Finding {
	if f.count == nil {
		f.count = make(map[Code]int)
	}
	f.count[code]++
	one := Finding{Run: f.run, Code: code, Ticket: ticket, Text: fmt.Sprintf(format, args...)}
	if f.count[code] > listed {
		return &one
	}
	f.found = append(f.found, one)
	return &f.found[len(f.found)-1]
}

// all returns the findings, with one for those of each kind that are not listed.
func (f *findings) all() []Finding {
	var all []Finding
	last := make(map[Code]int)
	for i, one := range f.found {
		last[one.Code] = i
	}
	for i, one := range f.found {
		all = append(all, one)
		if more := f.count[one.Code] - listed; more > 0 && last[one.Code] == i {
			all = append(all, Finding{Run: f.run, Code: one.Code, More: more, Text: fmt.Sprintf("… and %d more tickets like this (%s)", more, one.Code)})
		}
	}
	return all
}
