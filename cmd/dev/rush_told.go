package main

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// later is what a registration may be told to be after it was told to be
// something else. In between can be what nobody was told.
var later = map[enroll.Status][]enroll.Status{
	enroll.Queued:     {enroll.Confirmed, enroll.Waitlisted, enroll.Rejected, enroll.Cancelled},
	enroll.Waitlisted: {enroll.Confirmed, enroll.Cancelled},
	enroll.Confirmed:  {enroll.Cancelled},
}

// judgeTold compares what people were told with the line.
func (r *result) judgeTold(clicks []*click, l ledger) {
	byID := make(map[uuid.UUID]entry, len(l.line))
	cancellations := make(map[int64]entry) // by target
	for _, e := range l.line {
		switch {
		case e.Kind == enroll.Register:
			byID[e.ID] = e
		case e.Kind == enroll.Cancel && cancellations[e.Target].Ticket != 0:
			r.blame("ticket %d cancels ticket %d, as ticket %d does", e.Ticket, e.Target, cancellations[e.Target].Ticket)
		case e.Kind == enroll.Cancel:
			cancellations[e.Target] = e
		}
	}
	if len(byID) != len(clicks) {
		r.blame("%d requests are in the line, %d were accepted", len(byID), len(clicks))
	}
	for id, ticket := range l.retired {
		if ticket <= int64(len(l.line)) {
			byID[id] = l.line[ticket-1]
		}
	}
	ranks := make(map[int64]int, len(l.waiting))
	for i, h := range l.waiting {
		ranks[h.Ticket] = i + 1
	}
	for _, c := range clicks {
		e, there := byID[c.ID]
		var reason enroll.Reason
		if c.Reason != nil {
			reason = c.Reason.Code
		}
		if _, retired := l.retired[c.ID]; retired || c.gone {
			r.judgeGone(c, e, retired)
			continue
		}
		if !there || e.Ticket != c.Ticket || e.Status != c.Status || e.Reason != reason || e.Key != c.email {
			r.blame("person %d was told ticket %d %s, and the line says %d %s", c.person, c.Ticket, outcome(c.Status, reason), e.Ticket, outcome(e.Status, e.Reason))
			continue
		}
		if c.Status == enroll.Waitlisted && (c.WaitlistPosition == nil || *c.WaitlistPosition != ranks[c.Ticket]) {
			r.blame("ticket %d was told another place on the waiting list than its %d", c.Ticket, ranks[c.Ticket])
		}
		r.judgeOrderTold(c)
		cancellation := cancellations[c.Ticket]
		delete(cancellations, c.Ticket)
		r.judgeCancelTold(c, e, cancellation)
	}
	for _, e := range l.line {
		if c := cancellations[e.Target]; c.Ticket == e.Ticket && e.Kind == enroll.Cancel {
			r.blame("ticket %d cancels ticket %d, and nobody asked for it", e.Ticket, e.Target)
		}
	}
}

// judgeGone compares what somebody was told whose address was corrected: as much as
// anybody before that, and nothing afterwards.
func (r *result) judgeGone(c *click, e entry, retired bool) {
	if !retired || !c.gone || e.Ticket != c.Ticket || cmp.Or(e.FirstKey, e.Key) != c.email {
		r.blame("person %d, ticket %d: the id is retired: %t, and that was told: %t", c.person, c.Ticket, retired, c.gone)
	}
	if c.cancelled() {
		r.blame("ticket %d was corrected although it was told that it is cancelled", c.Ticket)
	}
	r.judgeOrderTold(c)
}

// judgeOrderTold finds what was told of a registration after it was told to be
// further already. Questions that were on their way at once have no order.
func (r *result) judgeOrderTold(c *click) {
	for _, b := range c.told {
		for _, a := range c.told {
			switch {
			case !a.answered.Before(b.asked):
			case a.status != b.status && !slices.Contains(later[a.status], b.status):
				r.wentBack++
				r.blame("ticket %d was told %s after it was told %s", c.Ticket, b.status, a.status)
				return
			case a.position > 0 && b.position > a.position:
				r.wentBack++
				r.blame("ticket %d was told place %d on the waiting list after place %d", c.Ticket, b.position, a.position)
				return
			}
		}
	}
}

// judgeCancelTold compares what somebody was told who cancelled with the request
// that this came to, if there is one.
func (r *result) judgeCancelTold(c *click, e, cancellation entry) {
	if cancellation.Ticket != 0 && !c.cancelled() {
		r.blame("ticket %d cancels ticket %d, and nobody was told so", cancellation.Ticket, c.Ticket)
	}
	for _, a := range c.cancels {
		switch {
		case a.code == http.StatusConflict:
			if a.problem != "not_held" || e.Status != enroll.Rejected {
				r.blame("ticket %d is %s, and whoever cancelled it was told %q", c.Ticket, e.Status, a.problem)
			}
		case cancellation.Ticket == 0:
			r.blame("ticket %d was told that it is cancelled, and nothing in the line does so", c.Ticket)
		case a.ticket != cancellation.Ticket:
			r.blame("ticket %d was told that ticket %d cancels it, and ticket %d does", c.Ticket, a.ticket, cancellation.Ticket)
		}
	}
	if c.Cancellation != nil && cancellation.Ticket == 0 {
		r.blame("ticket %d was told of a cancellation that is not in the line", c.Ticket)
	}
}
