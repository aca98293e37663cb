package enroll

import "time"

// Life is what a run accepts and shows at an instant. What the API answers and
// what mails may say follow from it alone; docs/design.md has the table.
//
// The statement that accepts requests applies the same rules by the line's
// clock (internal/postgres/accept.go). A test compares the two.
type Life struct {
	Window    Window
	Begun     bool // people can no longer give up their seats
	ListEnded bool // the waiting list takes no people and promotes none
}

// Window says whether people can register, and if not, why.
type Window string

// The states of a window. All but Open are also the codes of refusals.
const (
	NotOpen         Window = "not_open"
	Open            Window = "open"
	Closed          Window = "closed"
	Over            Window = "over" // the run has ended
	WindowCalledOff Window = "called_off"
	WindowDraft     Window = "draft" // nobody but organisers sees the run
)

// LifeAt returns the run's life at now. An instant belongs to the state that
// begins with it.
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

// ListEndsAt returns when the waiting list ends by itself: at PromoteUntil; if
// that is zero, when the run begins; and in any case when the run ends.
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

// Refusal returns the code with which a request of the kind is refused, or ""
// if it is accepted. privileged tells that an organiser uses a right: to
// register a person outside the window, or to cancel a person's registration.
// target is the status of the registration that a Cancel is about.
//
// A cancel of a queued registration is accepted even after the run has begun.
// Should the registration turn out to have a seat, the seat is given up.
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

// MayGiveUp tells whether a registration with the status has a seat or a place,
// and its owner can give it up.
func (l Life) MayGiveUp(status Status) bool {
	return (status == Confirmed || status == Waitlisted) && l.Refusal(Cancel, false, status) == ""
}

// Life returns the run's life as of Now.
func (r RunState) Life() Life { return r.LifeAt(r.Now) }

// SeatsLeft returns how many seats the next registrations can get; nil means
// any number. A free seat that the waiting list has a claim to does not count.
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
