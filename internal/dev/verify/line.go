package verify

import (
	"fmt"
	"slices"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Line compares the line, its rows and its mails with the rules: the first people
// who asked are the first served, each once, and no seat is given twice.
func Line(run Run, l Ledger) *Result {
	r := &Result{Requests: len(l.Line), Rejected: make(map[string]int)}
	right := expect(run, l.Line)
	r.SeatedAtOnce = right.count(enroll.MailConfirmed)
	for i, e := range l.Line {
		if e.Ticket != int64(i)+1 {
			r.Addf("ticket %d stands where %d belongs", e.Ticket, i+1)
		}
		if i > 0 && e.AcceptedAt.Before(l.Line[i-1].AcceptedAt) {
			r.Addf("ticket %d was accepted before the one before it", e.Ticket)
		}
		r.count(e)
		switch want := right.Outcome(e.Ticket); {
		case want.Status == "":
			r.Addf("ticket %d is a %s, which nobody asked for", e.Ticket, e.Kind)
		case e.Status != want.Status || e.Reason != want.Reason:
			r.Addf("ticket %d is %s, and by the rules it is %s", e.Ticket, outcome(e.Status, e.Reason), outcome(want.Status, want.Reason))
		}
	}
	if r.Confirmed != right.Taken() {
		r.Addf("%d seats were given, %d belong", r.Confirmed, right.Taken())
	}
	if r.Waitlisted != right.Waiting() {
		r.Addf("%d people wait, %d belong on the list", r.Waitlisted, right.Waiting())
	}
	r.compareHoldings("attendances", right.holdings(enroll.Confirmed), l.Seated, l.SeatsCounted)
	r.compareHoldings("the waiting list", right.holdings(enroll.Waitlisted), l.Waiting, l.PlacesCounted)
	r.compareOutbox(right, l)
	r.countWrongSeats(right, l)
	for _, bad := range []struct {
		count int
		text  string
	}{
		{r.Undecided, "requests undecided"}, {r.Oversold, "seats given that were not there"},
		{r.OutOfOrder, "seats that belong to other people"}, {r.DuplicatesSeated, "second seats or places for one person"},
		{r.PromotedOutOfOrder, "people promoted who were not the first on the list"},
	} {
		if bad.count > 0 {
			r.Addf("%d %s", bad.count, bad.text)
		}
	}
	return r
}

func outcome(status enroll.Status, reason enroll.Reason) string {
	if reason == "" {
		return string(status)
	}
	return fmt.Sprintf("%s (%s)", status, reason)
}

func (r *Result) count(e Entry) {
	switch e.Status {
	case enroll.Confirmed:
		r.Confirmed++
	case enroll.Waitlisted:
		r.Waitlisted++
	case enroll.Rejected:
		r.Rejected[string(e.Reason)]++
	case enroll.Cancelled:
		r.Cancelled++
	case enroll.Queued:
		r.Undecided++
	case enroll.Done, enroll.NotPromoted:
	}
}

// compareHoldings compares the rows of a table, and their number by the run's
// counter, with the rules.
func (r *Result) compareHoldings(name string, want, got []Holding, counted int) {
	if !slices.Equal(want, got) {
		i := 0
		for i < min(len(want), len(got)) && want[i] == got[i] {
			i++
		}
		r.Addf("%s: %d rows, and by the rules %d; row %d is the first that is wrong", name, len(got), len(want), i+1)
	}
	if counted != len(got) {
		r.Addf("%s: the run says that there are %d, and there are %d", name, counted, len(got))
	}
}

// countWrongSeats counts what must not be: more seats given than there are, people
// with two seats or places, and seats and promotions that the rules give to
// another person.
func (r *Result) countWrongSeats(right *expectation, l Ledger) {
	r.Oversold = max(len(l.Seated)-max(*right.Capacity, right.Taken()), 0) // a lowered capacity takes no seat away
	holds := make(map[string]bool, len(l.Seated)+len(l.Waiting))
	for _, h := range slices.Concat(l.Seated, l.Waiting) {
		if holds[h.Key] {
			r.DuplicatesSeated++
		}
		holds[h.Key] = true
	}
	for _, h := range l.Seated {
		if right.Outcome(h.Ticket).Status != enroll.Confirmed {
			r.OutOfOrder++
		}
	}
	promoted := make(map[int64]bool)
	for _, e := range l.Line {
		if e.Status == enroll.Confirmed && e.ChangedAt != nil {
			promoted[e.Ticket] = true
		}
	}
	for _, m := range l.Mails {
		if m.Kind == enroll.MailPromoted { // even if it was cancelled since
			promoted[m.Ticket] = true
		}
	}
	for ticket := range promoted {
		r.Promoted++
		if !right.due(ticket, enroll.MailPromoted) {
			r.PromotedOutOfOrder++
		}
	}
}

// compareOutbox compares the outbox with the rules: a mail for each seat that was
// given at once, each place, each promotion and each cancellation.
func (r *Result) compareOutbox(right *expectation, l Ledger) {
	written := make(map[MailRow]int, len(l.Mails))
	for _, m := range l.Mails {
		written[m]++
		if !right.due(m.Ticket, m.Kind) || written[m] > 1 {
			r.Addf("ticket %d: a mail %q was written that nothing calls for", m.Ticket, m.Kind)
		}
	}
	for _, e := range l.Line {
		for _, kind := range right.mails[e.Ticket] {
			if written[MailRow{e.Ticket, kind}] == 0 {
				r.MailsMissing++
				r.Addf("ticket %d: no mail %q was written", e.Ticket, kind)
			}
		}
	}
}
