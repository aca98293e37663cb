package verify

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/enroll"
)

// later has the statuses that people may be told after a status. They need not be
// told every status in between.
var later = map[enroll.Status][]enroll.Status{
	enroll.Queued:     {enroll.Confirmed, enroll.Waitlisted, enroll.Rejected, enroll.Cancelled},
	enroll.Waitlisted: {enroll.Confirmed, enroll.Cancelled},
	enroll.Confirmed:  {enroll.Cancelled},
}

// CompareAnswers compares what people were told with the line.
func (r *Result) CompareAnswers(submissions []*clients.Submission, l Ledger) {
	byID := make(map[uuid.UUID]Entry, len(l.Line))
	cancellations := make(map[int64]Entry) // by target
	for _, e := range l.Line {
		switch {
		case e.Kind == enroll.Register:
			byID[e.ID] = e
		case e.Kind == enroll.Cancel && cancellations[e.Target].Ticket != 0:
			r.Addf("ticket %d cancels ticket %d, as ticket %d does", e.Ticket, e.Target, cancellations[e.Target].Ticket)
		case e.Kind == enroll.Cancel:
			cancellations[e.Target] = e
		}
	}
	if len(byID) != len(submissions) {
		r.Addf("%d requests are in the line, %d were accepted", len(byID), len(submissions))
	}
	for id, ticket := range l.Retired {
		if e := l.entry(ticket); e != nil {
			byID[id] = *e
		}
	}
	positions := make(map[int64]int, len(l.Waiting))
	for i, h := range l.Waiting {
		positions[h.Ticket] = i + 1
	}
	for _, s := range submissions {
		e, there := byID[s.ID]
		_, retired := l.Retired[s.ID]
		switch {
		case retired || s.Gone:
			r.compareRetired(s, e, retired)
		case r.compareStatus(s, e, there, positions[s.Ticket]):
			r.compareCancellation(s, e, cancellations[s.Ticket])
			delete(cancellations, s.Ticket)
		}
	}
	for _, e := range l.Line {
		if c := cancellations[e.Target]; c.Ticket == e.Ticket && e.Kind == enroll.Cancel {
			r.Addf("ticket %d cancels ticket %d, and nobody asked for it", e.Ticket, e.Target)
		}
	}
}

// compareStatus compares what a person was told last with the line, and reports
// whether it is the same registration with the same outcome.
func (r *Result) compareStatus(s *clients.Submission, e Entry, there bool, position int) bool {
	var reason enroll.Reason
	if s.Reason != nil {
		reason = s.Reason.Code
	}
	if !there || e.Ticket != s.Ticket || e.Status != s.Status || e.Reason != reason || e.Key != s.Email {
		r.Addf("person %d was told ticket %d %s, and the line says %d %s",
			s.Person, s.Ticket, outcome(s.Status, reason), e.Ticket, outcome(e.Status, e.Reason))
		return false
	}
	if s.Status == enroll.Waitlisted && (s.WaitlistPosition == nil || *s.WaitlistPosition != position) {
		r.Addf("ticket %d was told another place on the waiting list than its %d", s.Ticket, position)
	}
	r.compareOrder(s)
	return true
}

// compareRetired compares what a person was told whose address was corrected:
// everything before the correction, and nothing afterwards.
func (r *Result) compareRetired(s *clients.Submission, e Entry, retired bool) {
	if !retired || !s.Gone || e.Ticket != s.Ticket || cmp.Or(e.FirstKey, e.Key) != s.Email {
		r.Addf("person %d, ticket %d: the id is retired: %t, and that was told: %t", s.Person, s.Ticket, retired, s.Gone)
	}
	if s.CancelAccepted() {
		r.Addf("ticket %d was corrected although it was told that it is cancelled", s.Ticket)
	}
	r.compareOrder(s)
}

// compareOrder finds a status that was told after a later one. Requests that
// were on their way at the same time have no order.
func (r *Result) compareOrder(s *clients.Submission) {
	for _, b := range s.Observed {
		for _, a := range s.Observed {
			switch {
			case !a.Answered.Before(b.Asked):
			case a.Status != b.Status && !slices.Contains(later[a.Status], b.Status):
				r.WentBack++
				r.Addf("ticket %d was told %s after it was told %s", s.Ticket, b.Status, a.Status)
				return
			case a.Position > 0 && b.Position > a.Position:
				r.WentBack++
				r.Addf("ticket %d was told place %d on the waiting list after place %d", s.Ticket, b.Position, a.Position)
				return
			}
		}
	}
}

// compareCancellation compares the answers to a person's cancellation with the
// line's, whose Ticket is 0 if there is none.
func (r *Result) compareCancellation(s *clients.Submission, e, cancellation Entry) {
	if cancellation.Ticket != 0 && !s.CancelAccepted() {
		r.Addf("ticket %d cancels ticket %d, and nobody was told so", cancellation.Ticket, s.Ticket)
	}
	for _, a := range s.Cancels {
		switch {
		case a.Status == http.StatusConflict:
			if a.Problem != "not_held" || e.Status != enroll.Rejected {
				r.Addf("ticket %d is %s, and cancelling it was answered with %q", s.Ticket, e.Status, a.Problem)
			}
		case cancellation.Ticket == 0:
			r.Addf("ticket %d was told that it is cancelled, and nothing in the line does so", s.Ticket)
		case a.Ticket != cancellation.Ticket:
			r.Addf("ticket %d was told that ticket %d cancels it, and ticket %d does", s.Ticket, a.Ticket, cancellation.Ticket)
		}
	}
	if s.Cancellation != nil && cancellation.Ticket == 0 {
		r.Addf("ticket %d was told of a cancellation that is not in the line", s.Ticket)
	}
}
