// Package verify judges what happened to the runs of a rush or of chaos. It reads
// the ledger, works out by a model of its own (internal/linemodel) what belongs
// there, and compares: the ledger with the rules, what people were told with the
// ledger, and the mails that arrived with the outbox. It does not believe the API,
// and it does not use the code that it judges.
//
//	ledger.go      reading the ledger
//	expectation.go what belongs there, by the rules
//	line.go        the line, its seats and places, its mails
//	answers.go     what people were told
//	order.go       what was lost, and what overtook
//	mail.go        the outbox and the mails that arrived
//	change.go      moved runs and corrected addresses
//	recovery.go    how long lines stood still
//	verdict.go     what is printed
package verify

import "fmt"

// Findings are broken promises, in words.
type Findings []string

// Addf adds a finding.
func (f *Findings) Addf(format string, args ...any) {
	*f = append(*f, fmt.Sprintf(format, args...))
}

// Run is a run before its first request.
type Run struct {
	Seats   int
	Places  *int // on the waiting list; nil = any number
	Resized bool // an organiser changes the capacities
}

// Result is the verdict on one run.
type Result struct {
	Findings

	Requests int // in the line

	// How the registrations ended.
	Confirmed, Waitlisted, Cancelled, Undecided int
	Rejected                                    map[string]int // by reason
	Promoted                                    int            // also those who cancelled later
	SeatedAtOnce                                int            // by the rules

	// What must be 0.
	Oversold           int // seats given that were not there
	OutOfOrder         int // seats that belong to another person
	DuplicatesSeated   int // second seats or places of one person
	PromotedOutOfOrder int
	MailsMissing       int // that the outbox lacks
	WentBack           int // people who were told a status that was over
	Lost               int // requests that were accepted and are not in the line
	MovedUntold        int // people who were not told that the run was moved
	CorrectedUntold    int // addresses, right and wrong, that were not told of a correction
	LinksLeaked        int // sent to an address that is not the link's
}
