package rush

import (
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/verify"
	"github.com/lastseat/lastseat/internal/enroll"
)

// measure takes the times of the registrations.
func (r *Result) measure(submissions []*clients.Submission, line []verify.Entry) {
	var firstSent, lastAnswer, firstAccepted, lastDecided time.Time
	for _, s := range submissions {
		if firstSent.IsZero() || s.Sent.Before(firstSent) {
			firstSent = s.Sent
		}
		if s.Answered.After(lastAnswer) {
			lastAnswer = s.Answered
		}
	}
	var waits []float64 // milliseconds from accepting to deciding
	for _, e := range line {
		if e.Kind != enroll.Register {
			continue // people cancel for a while after the rush
		}
		if firstAccepted.IsZero() || e.AcceptedAt.Before(firstAccepted) {
			firstAccepted = e.AcceptedAt
		}
		if e.DecidedAt != nil {
			waits = append(waits, verify.Milliseconds(e.DecidedAt.Sub(e.AcceptedAt)))
			if e.DecidedAt.After(lastDecided) {
				lastDecided = *e.DecidedAt
			}
		}
	}
	r.AcceptPerSecond = verify.Rounded(float64(len(submissions)) / lastAnswer.Sub(firstSent).Seconds())
	r.lastDecision, r.Took = lastDecided.Sub(lastAnswer), lastDecided.Sub(firstSent)
	if n := len(waits); n > 0 {
		slices.Sort(waits)
		r.DecidedPerSecond = verify.Rounded(float64(n) / lastDecided.Sub(firstAccepted).Seconds())
		r.DecidedP50, r.DecidedP99 = verify.Rounded(waits[n/2]), verify.Rounded(waits[n*99/100])
	}
}
