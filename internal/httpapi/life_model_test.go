package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
)

// paper is a run kept with pencil and paper, by the table of a run's life in
// docs/design.md. Its instants are whole hours.
type paper struct {
	opens, closes, starts, ends int
	until                       int  // promote_until, never = it is not set
	capacity, places            *int // nil = unlimited

	line        []*asked // that are not settled yet
	all         map[int]*asked
	seats, list []int // tickets
	ended, off  bool  // settled
	last        int   // ticket
	mails       []string
}

const never = -1

// asked is a request in the line.
type asked struct {
	ticket      int
	kind        string
	who         int  // registers
	seatOnly    bool // and does not want to wait
	target      *asked
	byOrganiser bool
	change      *int // the new capacity
	late        bool
	status      string // of a registration, with its reason
	cancelled   bool   // a request to cancel it is in the line
}

// listEnds returns when the waiting list ends by itself.
func (p *paper) listEnds() int {
	if p.until == never {
		return min(p.starts, p.ends)
	}
	return min(p.until, p.ends)
}

// window returns what the run shows as registration.
func (p *paper) window(now int) string {
	switch {
	case p.off:
		return "called_off"
	case now >= p.ends:
		return "over"
	case now < p.opens:
		return "not_open"
	case now >= p.closes:
		return "closed"
	}
	return "open"
}

// shown returns what the run shows, but for its times.
func (p *paper) shown(now int) string {
	window, ended := p.window(now), p.ended || now >= p.listEnds()
	left := "any"
	switch {
	case window == "over", window == "called_off", len(p.list) > 0 && !ended:
		left = "0"
	case p.capacity != nil:
		left = fmt.Sprint(max(*p.capacity-len(p.seats), 0))
	}
	return fmt.Sprintf("%s, %d seats taken, %s left, %d wait, list ended: %t", window, len(p.seats), left, len(p.list), ended)
}

// answer returns the code by which the run refuses the request, or "".
func (p *paper) answer(a *asked, now int) string {
	window := p.window(now)
	switch a.kind {
	case "register":
		if window == "over" || window == "called_off" || window != "open" && !a.byOrganiser {
			return window
		}
	case "cancel":
		switch status := a.target.status; {
		case status == "not_promoted", strings.HasPrefix(status, "rejected"):
			return "not_held"
		case strings.HasPrefix(status, "cancelled"), a.target.cancelled: // nothing more is put into the line
		case status == "confirmed" && now >= p.starts && !a.byOrganiser:
			return "begun"
		}
	}
	return ""
}

// accept puts the request into the line.
func (p *paper) accept(a *asked, now int) {
	p.last++
	a.ticket, a.late = p.last, now >= p.listEnds()
	if a.kind == "register" {
		a.status = "queued"
	} else if a.kind == "cancel" {
		a.target.cancelled = true
	}
	p.line, p.all[a.ticket] = append(p.line, a), a
}

func (p *paper) become(ticket int, status, mail string) {
	p.all[ticket].status = status
	if mail != "" {
		p.mails = append(p.mails, fmt.Sprint(ticket, " ", mail))
	}
}

func (p *paper) free() bool { return p.capacity == nil || len(p.seats) < *p.capacity }

// promote gives seats that are free to those who wait, at most so many.
func (p *paper) promote(a *asked, most int) {
	for ; most > 0 && p.free() && len(p.list) > 0 && !p.ended && !a.late; most-- {
		first := p.list[0]
		p.list, p.seats = p.list[1:], append(p.seats, first)
		p.become(first, "confirmed", "promoted")
	}
}

// settle settles everything that is in the line.
func (p *paper) settle() {
	for _, a := range p.line {
		switch a.kind {
		case "register":
			p.register(a)
		case "cancel":
			p.cancel(a)
		case "resize":
			p.capacity = a.change
			p.promote(a, len(p.list))
		case "close_waitlist":
			for _, ticket := range p.list {
				p.become(ticket, "not_promoted", "not_promoted")
			}
			p.list, p.ended = nil, true
		case "call_off":
			for _, ticket := range slices.Concat(p.list, p.seats) {
				p.become(ticket, "cancelled called_off", "called_off")
			}
			p.list, p.seats, p.ended, p.off = nil, nil, true, true
		}
	}
	p.line = nil
}

func (p *paper) register(a *asked) {
	has := func(ticket int) bool { return p.all[ticket].who == a.who }
	switch {
	case p.off:
		p.become(a.ticket, "rejected called_off", "called_off")
	case slices.ContainsFunc(slices.Concat(p.seats, p.list), has):
		p.become(a.ticket, "rejected already_registered", "")
	case p.free() && (len(p.list) == 0 || a.late):
		p.seats = append(p.seats, a.ticket)
		p.become(a.ticket, "confirmed", "confirmed")
	case !p.ended && !a.late && !a.seatOnly && (p.places == nil || len(p.list) < *p.places):
		p.list = append(p.list, a.ticket)
		p.become(a.ticket, "waitlisted", "waitlisted")
	default:
		p.become(a.ticket, "rejected full", "")
	}
}

func (p *paper) cancel(a *asked) {
	status, is := "cancelled", func(ticket int) bool { return ticket == a.target.ticket }
	if a.byOrganiser {
		status = "cancelled removed"
	}
	switch a.target.status {
	case "confirmed":
		p.seats = slices.DeleteFunc(p.seats, is)
		p.become(a.target.ticket, status, "")
		p.promote(a, 1)
	case "waitlisted":
		p.list = slices.DeleteFunc(p.list, is)
		p.become(a.target.ticket, status, "")
	}
}
