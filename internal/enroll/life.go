package enroll

import "time"

// Life is where a run stands at an instant. What the run answers, what it shows
// and what its mails may say follow from it alone: docs/design.md has the table.
//
// The statement that accepts requests judges the same by the line's clock
// (internal/postgres/accept.go); a test compares the two.
type Life struct {
	Window    Window
	Begun     bool // people no longer give up their seats
	ListEnded bool // nobody is promoted any more, nor put on the waiting list
}

// Window says whether people can register, and if not, why.
type Window string

// The states of a window. All but Open are the code of a refusal, too.
const (
	NotOpen         Window = "not_open"
	Open            Window = "open"
	Closed          Window = "closed"
	Over            Window = "over" // the run has ended
	WindowCalledOff Window = "called_off"
	WindowDraft     Window = "draft" // nobody but organisers sees the run
)

// LifeAt returns where the run stands at now. An instant belongs to what begins
// with it.
func (r Run) LifeAt(now time.Time) Life {
	reached := func(t time.Time) bool { return !now.Before(t) }
	l := Life{
		Window:    Open,
		Begun:     reached(r.StartsAt),
		ListEnded: r.WaitlistEnded || r.CalledOff || reached(r.ListEndsAt()),
	}
	switch {
	case r.State == Draft:
		l.Window = WindowDraft
	case r.CalledOff:
		l.Window = WindowCalledOff
	case reached(r.EndsAt):
		l.Window = Over
	case !reached(r.OpensAt):
		l.Window = NotOpen
	case reached(r.ClosesAt):
		l.Window = Closed
	}
	return l
}

// ListEndsAt returns when the waiting list ends by itself: at PromoteUntil, or
// without that when the run begins, and when the run ends at the latest.
func (r Run) ListEndsAt() time.Time {
	end := r.PromoteUntil
	if end.IsZero() {
		end = r.StartsAt
	}
	if end.After(r.EndsAt) {
		return r.EndsAt
	}
	return end
}

// Refusal returns why a request of the kind is refused, or "" if it is accepted.
// Privileged tells that an organiser makes use of a right: to register somebody
// outside the window, or to cancel for somebody. Target is the status of the
// registration that a Cancel is about.
//
// A registration that is still queued may turn out to have a seat, and is given
// up then, as its owner asked.
func (l Life) Refusal(kind Kind, privileged bool, target Status) Code {
	ended := l.Window == Over || l.Window == WindowCalledOff || l.Window == WindowDraft
	switch {
	case kind == Register && (ended || l.Window != Open && !privileged):
		return Code(l.Window)
	case kind == Cancel && l.Begun && !privileged && target == Confirmed:
		return RunBegun
	}
	return ""
}

// MayRegister tells whether people can register.
func (l Life) MayRegister() bool { return l.Refusal(Register, false, "") == "" }

// MayGiveUp tells whether the owner of a registration with the status has a seat
// or a place, and can give it up.
func (l Life) MayGiveUp(status Status) bool {
	return (status == Confirmed || status == Waitlisted) && l.Refusal(Cancel, false, status) == ""
}

// Life returns where the run stands as of Now.
func (r RunState) Life() Life { return r.LifeAt(r.Now) }

// SeatsLeft returns how many seats the next registrations could get, or nil for
// any number. A seat that is free for whoever has waited longest is none of them.
func (r RunState) SeatsLeft() *int {
	life := r.Life()
	switch {
	case life.Window == Over, life.Window == WindowCalledOff, life.Window == WindowDraft, r.WaitingCount > 0 && !life.ListEnded:
		return new(int)
	case r.Capacity == nil:
		return nil
	}
	left := max(*r.Capacity-r.AttendancesCount, 0)
	return &left
}
