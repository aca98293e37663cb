package enroll_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// boxOffice settles in the slow and obvious way: one request at a time, with a
// list of seats and a waiting list, which it searches for every request.
type boxOffice struct {
	course
	capacity, places *int
	seats, list      []int64 // tickets; list is in ticket order
	ended, calledOff bool
	statuses         []statusAndWhy // of the line
	notices          []enroll.Notice
}

func openBoxOffice(c course) *boxOffice {
	return &boxOffice{course: c, capacity: c.start.Capacity, places: c.start.WaitlistCapacity, statuses: make([]statusAndWhy, len(c.line))}
}

func (b *boxOffice) becomes(ticket int64, status enroll.Status, reason enroll.Reason, mail enroll.MailKind) {
	decided := b.statuses[ticket-1].status != ""
	b.statuses[ticket-1] = statusAndWhy{status, reason, decided}
	if mail != "" {
		b.notices = append(b.notices, enroll.Notice{Ticket: ticket, Mail: mail})
	}
}

func (b *boxOffice) seatFree() bool { return b.capacity == nil || len(b.seats) < *b.capacity }

func (b *boxOffice) promote() {
	first := b.list[0]
	b.list = b.list[1:]
	b.seats = append(b.seats, first)
	b.becomes(first, enroll.Confirmed, "", enroll.MailPromoted)
}

func (b *boxOffice) serve(r enroll.Request) {
	switch r.Kind {
	case enroll.Register:
		b.register(r)
	case enroll.Cancel:
		b.cancel(r)
	case enroll.Resize:
		if r.Change.Capacity != nil {
			b.capacity = r.Change.Capacity.Most
		}
		if r.Change.WaitlistCapacity != nil {
			b.places = r.Change.WaitlistCapacity.Most
		}
		for len(b.list) > 0 && b.seatFree() && !b.ended && !r.Late {
			b.promote()
		}
		b.becomes(r.Ticket, enroll.Done, "", "")
	case enroll.CloseWaitlist:
		if b.ended {
			b.becomes(r.Ticket, enroll.Done, enroll.NoEffect, "")
			return
		}
		for _, ticket := range b.list {
			b.becomes(ticket, enroll.NotPromoted, "", enroll.MailNotPromoted)
		}
		b.list, b.ended = nil, true
		b.becomes(r.Ticket, enroll.Done, "", "")
	case enroll.CallOff:
		if b.calledOff {
			b.becomes(r.Ticket, enroll.Done, enroll.NoEffect, "")
			return
		}
		for _, ticket := range slices.Concat(b.list, b.seats) {
			b.becomes(ticket, enroll.Cancelled, enroll.RunCalledOff, enroll.MailCalledOff)
		}
		b.list, b.seats, b.ended, b.calledOff = nil, nil, true, true
		b.becomes(r.Ticket, enroll.Done, "", "")
	}
}

func (b *boxOffice) register(r enroll.Request) {
	if b.calledOff {
		b.becomes(r.Ticket, enroll.Rejected, enroll.RunCalledOff, enroll.MailCalledOff)
		return
	}
	for _, ticket := range slices.Concat(b.seats, b.list) {
		if b.line[ticket-1].Key == r.Key {
			b.becomes(r.Ticket, enroll.Rejected, enroll.AlreadyRegistered, "")
			b.notices = append(b.notices, enroll.Notice{Ticket: ticket, Mail: enroll.MailAlreadyRegistered})
			return
		}
	}
	if b.seatFree() && (len(b.list) == 0 || r.Late) {
		b.seats = append(b.seats, r.Ticket)
		b.becomes(r.Ticket, enroll.Confirmed, "", enroll.MailConfirmed)
		return
	}
	refusal := enroll.MailKind("")
	if r.Notify {
		refusal = enroll.MailFull
	}
	place := len(b.list) + 1
	switch {
	case r.Late || b.ended || b.places != nil && place > *b.places:
		b.becomes(r.Ticket, enroll.Rejected, enroll.Full, refusal)
	case r.WaitlistLimit != nil && *r.WaitlistLimit == 0:
		b.becomes(r.Ticket, enroll.Rejected, enroll.Full, refusal)
	case r.WaitlistLimit != nil && place > *r.WaitlistLimit:
		b.becomes(r.Ticket, enroll.Rejected, enroll.WaitlistTooLong, refusal)
	default:
		b.list = append(b.list, r.Ticket)
		b.becomes(r.Ticket, enroll.Waitlisted, "", enroll.MailWaitlisted)
	}
}

func (b *boxOffice) cancel(r enroll.Request) {
	target, reason := r.Target.Ticket, enroll.Reason("")
	if r.ByOrganiser {
		reason = enroll.Removed
	}
	is := func(ticket int64) bool { return ticket == target }
	switch {
	case slices.Contains(b.seats, target):
		b.seats = slices.DeleteFunc(b.seats, is)
		b.becomes(target, enroll.Cancelled, reason, enroll.MailCancelled)
		if b.seatFree() && len(b.list) > 0 && !r.Late && !b.ended {
			b.promote()
		}
		b.becomes(r.Ticket, enroll.Done, "", "")
	case slices.Contains(b.list, target):
		b.list = slices.DeleteFunc(b.list, is)
		b.becomes(target, enroll.Cancelled, reason, enroll.MailCancelled)
		b.becomes(r.Ticket, enroll.Done, "", "")
	default:
		b.becomes(r.Ticket, enroll.Done, enroll.NoEffect, "")
	}
}

// inOrder sorts the notices of a call-off by ticket, because their order depends
// on how many people moved in each call.
func inOrder(notices []enroll.Notice) []enroll.Notice {
	sorted := slices.Clone(notices)
	for i := 0; i < len(sorted); {
		end := i + 1
		for sorted[i].Mail == enroll.MailCalledOff && end < len(sorted) && sorted[end].Mail == enroll.MailCalledOff {
			end++
		}
		slices.SortFunc(sorted[i:end], func(n, m enroll.Notice) int { return int(n.Ticket - m.Ticket) })
		i = end
	}
	return sorted
}

func tickets(holdings []enroll.Holding) []int64 {
	all := make([]int64, len(holdings))
	for i, h := range holdings {
		all[i] = h.Ticket
	}
	return all
}

// TestSettleAgreesWithABoxOffice settles whole lines in four ways and compares
// them with a boxOffice.
func TestSettleAgreesWithABoxOffice(t *testing.T) {
	seen := &sightings{expected: []string{
		"resize in 2 calls", "close_waitlist in 2 calls", "call_off in 2 calls",
		"confirmed ", "waitlisted ", "cancelled ", "cancelled removed", "cancelled called_off", "not_promoted ",
		"rejected full", "rejected waitlist_too_long", "rejected already_registered", "rejected called_off", "done ", "done no_effect",
		"told confirmed", "told waitlisted", "told promoted", "told not_promoted", "told cancelled", "told called_off", "told full", "told already_registered",
		"queued to cancelled", "queued to promoted", "waitlisted to promoted to cancelled", "over capacity", "late cancel, and people wait",
		"late register is seated, and people wait", "late register is refused, with room on the list", "late resize, and people wait",
	}}
	often(t, seen, func(t *rapid.T) {
		c := drawCourse(t)
		saw := make(map[string]bool)
		defer seen.add(saw)

		office := openBoxOffice(c)
		for _, r := range c.line {
			waits := r.Late && len(office.list) > 0 && !office.ended
			room := r.Late && !office.ended && (office.places == nil || len(office.list) < *office.places)
			gives := slices.Contains(office.seats, r.Target.Ticket)
			office.serve(r)
			note := func(what string, is bool) { saw[what] = saw[what] || is }
			status := office.statuses[r.Ticket-1]
			note("late cancel, and people wait", waits && gives && office.seatFree())
			note("late resize, and people wait", waits && r.Kind == enroll.Resize && office.seatFree())
			note("late register is seated, and people wait", waits && status.status == enroll.Confirmed)
			note("late register is refused, with room on the list", room && status.reason == enroll.Full)
			saw["over capacity"] = saw["over capacity"] || office.capacity != nil && len(office.seats) > *office.capacity
		}
		for _, s := range office.statuses {
			saw[string(s.status)+" "+string(s.reason)] = true
		}
		for _, n := range office.notices {
			saw["told "+string(n.Mail)] = true
		}

		alone, pieces, whole, equal := newDesk(c), newDesk(c), newDesk(c), newDesk(c)
		for !alone.done() {
			alone.settle(t, 1)
		}
		for !pieces.done() {
			first := pieces.settled
			_, requests, s := pieces.settle(t, rapid.IntRange(1, 9).Draw(t, "piece"))
			if len(s.Outcomes) == 0 {
				saw[string(c.line[first].Kind)+" in 2 calls"] = true
			}
			look(saw, requests, s)
		}
		for !whole.done() {
			whole.settle(t, len(c.line))
		}
		for n := rapid.IntRange(2, 6).Draw(t, "equal pieces"); !equal.done(); {
			equal.settle(t, n)
		}

		told := inOrder(office.notices)
		for _, way := range []struct {
			name string
			*desk
		}{{"one at a time", alone}, {"in pieces", pieces}, {"in equal pieces", equal}, {"together", whole}} {
			if !slices.Equal(way.statuses, office.statuses) {
				t.Errorf("%s:\n got %v\nwant %v", way.name, way.statuses, office.statuses)
			}
			if got := tickets(way.listed); !slices.Equal(got, office.list) {
				t.Errorf("%s: the list is %v, want %v", way.name, got, office.list)
			}
			if got, want := tickets(way.seated), slices.Sorted(slices.Values(office.seats)); !slices.Equal(got, want) {
				t.Errorf("%s: the seats are %v, want %v", way.name, got, want)
			}
			if got := inOrder(way.notices); !slices.Equal(got, told) {
				t.Errorf("%s: told\n got %v\nwant %v", way.name, got, told)
			}
			want := enroll.RunCounts{
				Capacity: office.capacity, WaitlistCapacity: office.places, Taken: len(office.seats), Waiting: len(office.list),
				WaitlistEnded: office.ended, CalledOff: office.calledOff,
			}
			if way.counts != want { // with the same pointers, which the line has
				t.Errorf("%s: the run is %+v, want %+v", way.name, way.counts, want)
			}
		}
	})
}

// look notes what happened within one call.
func look(saw map[string]bool, requests []enroll.Request, s enroll.Settlement) {
	told := make(map[enroll.Notice]bool, len(s.Notices))
	for _, n := range s.Notices {
		told[n] = true
	}
	for i, o := range s.Outcomes {
		if requests[i].Kind != enroll.Register {
			continue
		}
		saw["queued to cancelled"] = saw["queued to cancelled"] || o.Status == enroll.Cancelled
		saw["queued to promoted"] = saw["queued to promoted"] || o.Status == enroll.Confirmed && told[enroll.Notice{Ticket: o.Ticket, Mail: enroll.MailPromoted}]
	}
	for _, o := range s.Changed {
		if o.Before == enroll.Waitlisted && o.Status == enroll.Cancelled && told[enroll.Notice{Ticket: o.Ticket, Mail: enroll.MailPromoted}] {
			saw["waitlisted to promoted to cancelled"] = true
		}
	}
}
