package verify

import (
	"slices"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/enroll"
)

// FindLost counts what was accepted and is not in the line: submissions, their
// cancellations, and changes of the capacities.
func (r *Result) FindLost(submissions []*clients.Submission, changes []clients.Answer, l Ledger) {
	kept := make(map[uuid.UUID]int64, len(l.Line))
	for _, e := range l.Line {
		kept[e.ID] = e.Ticket
	}
	lost := func(what string, ticket int64) {
		r.Lost++
		r.Addf("a %s was accepted with ticket %d, and is not in the line", what, ticket)
	}
	there := func(ticket int64, kind enroll.Kind) bool {
		e := l.entry(ticket)
		return e != nil && e.Kind == kind
	}
	for _, s := range submissions {
		if kept[s.ID] != s.Ticket && l.Retired[s.ID] != s.Ticket {
			lost("registration", s.Ticket)
		}
		for _, a := range s.Cancels {
			if a.Ticket != 0 && !there(a.Ticket, enroll.Cancel) {
				lost("cancellation", a.Ticket)
			}
		}
	}
	for _, a := range changes {
		if !there(a.Registration.Ticket, enroll.Resize) {
			lost("change of capacity", a.Registration.Ticket)
		}
	}
}

// FindOvertaken counts the people who were overtaken as out of order: a person who
// asked after their answer has a smaller ticket.
func (r *Result) FindOvertaken(submissions []*clients.Submission) {
	if n := overtakers(submissions); n > 0 {
		r.OutOfOrder += n
		r.Addf("%d people have a smaller ticket than a person with an answer from before they asked", n)
	}
}

// overtakers counts the submissions that were sent when another one was answered
// already, and that got the smaller ticket.
func overtakers(submissions []*clients.Submission) int {
	sent := slices.SortedFunc(slices.Values(submissions), func(a, b *clients.Submission) int { return a.Sent.Compare(b.Sent) })
	answered := slices.SortedFunc(slices.Values(submissions), func(a, b *clients.Submission) int { return a.Answered.Compare(b.Answered) })
	count, next, largest := 0, 0, int64(0)
	for _, s := range sent {
		for ; next < len(answered) && answered[next].Answered.Before(s.Sent); next++ {
			largest = max(largest, answered[next].Ticket)
		}
		if s.Ticket < largest {
			count++
		}
	}
	return count
}
