package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// judge compares the line with the rules, and what people were told with the
// line: the first who asked are the first served, each once, no seat twice.
func judge(plan rushPlan, clicks []*click, l ledger) result {
	r := result{
		rushJSON: rushJSON{
			People: plan.people, Seats: plan.seats, Waitlist: plan.waitlist, Cancel: plan.cancel,
			Accepted: len(clicks), Rejected: make(map[string]int),
		},
		plan: plan, clicks: len(clicks),
	}
	r.judgeLine(l)
	r.judgeTold(clicks, l)
	r.measure(clicks, l.line)
	return r
}

// judgeLine compares the line, the rows and the mails with a replay of the line.
func (r *result) judgeLine(l ledger) {
	right := replayLine(r.plan, l.line)
	r.directSeats = right.told(enroll.MailConfirmed)
	for i, e := range l.line {
		if e.Ticket != int64(i)+1 {
			r.blame("ticket %d stands where %d belongs", e.Ticket, i+1)
		}
		if i > 0 && e.AcceptedAt.Before(l.line[i-1].AcceptedAt) {
			r.blame("ticket %d was accepted before the one before it", e.Ticket)
		}
		r.count(e)
		switch want := right.fates[e.Ticket]; {
		case want == nil:
			r.blame("ticket %d is a %s, which nobody asked for", e.Ticket, e.Kind)
		case e.Status != want.status || e.Reason != want.reason:
			r.blame("ticket %d is %s, and by the rules it is %s", e.Ticket, outcome(e.Status, e.Reason), outcome(want.status, want.reason))
		}
	}
	if r.Confirmed != right.taken {
		r.blame("%d seats were given, %d belong", r.Confirmed, right.taken)
	}
	if r.Waitlisted != right.waiting {
		r.blame("%d people wait, %d belong on the list", r.Waitlisted, right.waiting)
	}
	r.compareHoldings("attendances", right.holding(right.seated, enroll.Confirmed), l.seated, l.seatsCounted)
	r.compareHoldings("the waiting list", right.holding(right.list, enroll.Waitlisted), l.waiting, l.placesCounted)
	r.judgeOutbox(right, l)
	r.judgeSeats(right, l)
	for _, bad := range []struct {
		count int
		text  string
	}{
		{r.Undecided, "requests undecided"}, {r.Oversold, "seats given that were not there"},
		{r.OutOfOrder, "seats that belong to somebody else"}, {r.DuplicatesSeated, "second seats or places for one person"},
		{r.PromotedOutOfOrder, "people promoted who were not the first on the list"},
	} {
		if bad.count > 0 {
			r.blame("%d %s", bad.count, bad.text)
		}
	}
}

func (r *result) blame(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func outcome(status enroll.Status, reason enroll.Reason) string {
	if reason == "" {
		return string(status)
	}
	return fmt.Sprintf("%s (%s)", status, reason)
}

func (r *result) count(e entry) {
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

// compareHoldings compares the rows of a table, and how many the run says there
// are, with the replay.
func (r *result) compareHoldings(name string, want, got []holding, counted int) {
	if !slices.Equal(want, got) {
		i := 0
		for i < min(len(want), len(got)) && want[i] == got[i] {
			i++
		}
		r.blame("%s: %d rows, and by the rules %d; row %d is the first that is wrong", name, len(got), len(want), i+1)
	}
	if counted != len(got) {
		r.blame("%s: the run says that there are %d, and there are %d", name, counted, len(got))
	}
}

// judgeSeats counts what must not be: more seats given than there are, people
// with two seats or places, and seats and promotions that the replay gives to
// somebody else.
func (r *result) judgeSeats(right *replay, l ledger) {
	r.Oversold = max(len(l.seated)-max(right.seats, right.taken), 0) // nobody loses a seat when the capacity is lowered
	holds := make(map[string]bool, len(l.seated)+len(l.waiting))
	for _, h := range slices.Concat(l.seated, l.waiting) {
		if holds[h.Key] {
			r.DuplicatesSeated++
		}
		holds[h.Key] = true
	}
	for _, h := range l.seated {
		if f := right.fates[h.Ticket]; f == nil || f.status != enroll.Confirmed {
			r.OutOfOrder++
		}
	}
	promoted := make(map[int64]bool)
	for _, e := range l.line {
		if e.Status == enroll.Confirmed && e.ChangedAt != nil {
			promoted[e.Ticket] = true
		}
	}
	for _, m := range l.mails {
		if m.Kind == enroll.MailPromoted { // who has cancelled since was promoted, too
			promoted[m.Ticket] = true
		}
	}
	for ticket := range promoted {
		r.Promoted++
		if f := right.fates[ticket]; f == nil || !f.got(enroll.MailPromoted) {
			r.PromotedOutOfOrder++
		}
	}
}

// judgeOutbox compares the mails with the replay: one for each seat that was
// given at once, each place, each promotion and each cancellation.
func (r *result) judgeOutbox(right *replay, l ledger) {
	written := make(map[mailRow]int, len(l.mails))
	for _, m := range l.mails {
		written[m]++
		if f := right.fates[m.Ticket]; f == nil || !f.got(m.Kind) || written[m] > 1 {
			r.blame("ticket %d: a mail %q was written that nothing calls for", m.Ticket, m.Kind)
		}
	}
	for _, e := range l.line {
		f := right.fates[e.Ticket]
		if f == nil {
			continue
		}
		for _, kind := range f.mails {
			if written[mailRow{e.Ticket, kind}] == 0 {
				r.MailsMissing++
				r.blame("ticket %d: no mail %q was written", e.Ticket, kind)
			}
		}
	}
}

// measure takes the time of the registrations.
func (r *result) measure(clicks []*click, line []entry) {
	var firstSent, lastAnswer, firstAccepted, lastDecided time.Time
	for _, c := range clicks {
		if firstSent.IsZero() || c.sent.Before(firstSent) {
			firstSent = c.sent
		}
		if c.answered.After(lastAnswer) {
			lastAnswer = c.answered
		}
	}
	var waits []float64
	for _, e := range line {
		if e.Kind != enroll.Register {
			continue // those go on for a while afterwards
		}
		if firstAccepted.IsZero() || e.AcceptedAt.Before(firstAccepted) {
			firstAccepted = e.AcceptedAt
		}
		if e.DecidedAt != nil {
			waits = append(waits, float64(e.DecidedAt.Sub(e.AcceptedAt))/float64(time.Millisecond))
			if e.DecidedAt.After(lastDecided) {
				lastDecided = *e.DecidedAt
			}
		}
	}
	r.AcceptPerSecond = rounded(float64(len(clicks)) / lastAnswer.Sub(firstSent).Seconds())
	r.lastDecision, r.took = lastDecided.Sub(lastAnswer), lastDecided.Sub(firstSent)
	if n := len(waits); n > 0 {
		slices.Sort(waits)
		r.DecidedPerSecond = rounded(float64(n) / lastDecided.Sub(firstAccepted).Seconds())
		r.DecidedP50, r.DecidedP99 = rounded(waits[n/2]), rounded(waits[n*99/100])
	}
}
