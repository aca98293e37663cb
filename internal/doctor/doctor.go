// Package doctor checks a ledger. It knows the rules that runs, lines, seats
// and waiting lists obey, and it settles whole lines again to check their
// outcomes.
//
// It is pure except for Visit, which reads a Ledger. It must not know how
// anything is stored. Its findings name runs and tickets only, never names,
// addresses or ids of registrations.
package doctor

import "fmt"

// Code names a kind of finding, for programs. It is stable.
type Code string

// The codes: of a run, of a line, of its requests, of the installation.
const (
	AttendancesCount Code = "attendances_count" // is not the number of seats
	WaitingCount     Code = "waiting_count"     // is not the number of people on the waiting list
	Capacity         Code = "capacity"          // is not what the line makes it
	WaitlistCapacity Code = "waitlist_capacity" // the same
	WaitlistEnded    Code = "waitlist_ended"    // the same
	CalledOff        Code = "called_off"        // the same
	WaitlistOverdue  Code = "waitlist_overdue"  // the list should have ended by itself

	TimeZone Code = "time_zone" // of a run: no such zone
	ReplyTo  Code = "reply_to"  // of a course: not an address
	Text     Code = "text"      // of a run or its course: not a line that mails and calendars can show

	NoLine         Code = "no_line"
	Hole           Code = "hole"             // tickets are missing
	LastTicket     Code = "last_ticket"      // is not the last request's ticket
	LastAcceptedAt Code = "last_accepted_at" // is earlier than the last request
	SettledTicket  Code = "settled_ticket"   // is beyond the end of the line
	LineBehind     Code = "line_behind"      // the next request has waited for longer than Patience
	RowHeld        Code = "row_held"         // another transaction holds a row that accepting or settling needs

	AcceptedAt    Code = "accepted_at" // runs backwards
	Undecided     Code = "undecided"   // although settled_ticket is at or beyond it
	DecidedEarly  Code = "decided_early"
	SeatMissing   Code = "seat_missing"
	SeatUnearned  Code = "seat_unearned"
	PlaceMissing  Code = "place_missing"
	PlaceUnearned Code = "place_unearned"
	OtherAddress  Code = "other_address"  // the seat or the place belongs to another address
	SeatAndPlace  Code = "seat_and_place" // a person has both
	OutcomeDiffer Code = "outcome"        // settling the line again makes it another

	LaneSilent        Code = "lane_silent" // a session holds lane locks and does not answer
	ReadOnly          Code = "read_only"   // the server takes no writes
	MailsWaiting      Code = "mails_waiting"
	AsyncStandby      Code = "async_standby"
	Fsync             Code = "fsync"
	FullPageWrites    Code = "full_page_writes"
	SynchronousCommit Code = "synchronous_commit"
)

// Finding is one thing that is wrong.
type Finding struct {
	Run        string `json:"run,omitempty"` // the slug; empty = the whole installation
	Code       Code   `json:"code"`
	Ticket     int64  `json:"ticket,omitempty"`     // 0 = about no ticket
	More       int    `json:"more,omitempty"`       // how many findings of this code are not listed
	Warning    bool   `json:"warning,omitempty"`    // nothing is wrong yet
	Repairable bool   `json:"repairable,omitempty"` // it has one right answer
	Text       string `json:"text"`
	blocks     bool   // the line cannot be settled further
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

// listed is how many findings of one code are listed for a run.
const listed = 10

// findings collects what is wrong with one run.
type findings struct {
	run   string
	found []Finding
	count map[Code]int
}

// add adds a finding about a ticket, or about no ticket (0), and returns it.
// Beyond the limit of listed findings it only counts.
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

// all returns the findings, and for each code one that counts those that are
// not listed.
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
