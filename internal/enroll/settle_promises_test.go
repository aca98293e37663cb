package enroll_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// witness knows only the notices. It goes through them one by one, and derives
// the seats and the waiting list from them.
type witness struct {
	line        []enroll.Request
	seats, list []int64
	decided     map[int64]bool // registrations with a notice
	late        bool           // a late request is settled: seats may be free while people wait
}

func (w *witness) holds(key enroll.AddressKey) bool {
	return slices.ContainsFunc(slices.Concat(w.seats, w.list), func(ticket int64) bool { return w.line[ticket-1].Key == key })
}

// hear checks one notice. Of the run it uses only the limits and flags during
// the call.
func (w *witness) hear(t rapid.TB, n enroll.Notice, during enroll.RunCounts) {
	t.Helper()
	is := func(ticket int64) bool { return ticket == n.Ticket }
	seated, listed := slices.Contains(w.seats, n.Ticket), slices.Contains(w.list, n.Ticket)
	seatFree := during.Capacity == nil || len(w.seats) < *during.Capacity
	placeFree := during.WaitlistCapacity == nil || len(w.list) < *during.WaitlistCapacity
	key, news := w.line[n.Ticket-1].Key, !w.decided[n.Ticket]
	switch n.Mail {
	case enroll.MailConfirmed:
		if !news || !seatFree || len(w.list) > 0 && !w.line[n.Ticket-1].Late || w.holds(key) || during.CalledOff {
			t.Fatalf("%d must not be confirmed: seats %v, list %v, %+v", n.Ticket, w.seats, w.list, during)
		}
		w.seats = append(w.seats, n.Ticket)
	case enroll.MailWaitlisted:
		limit := w.line[n.Ticket-1].WaitlistLimit
		if !news || w.line[n.Ticket-1].Late || !placeFree || seatFree && len(w.list) == 0 || w.holds(key) || during.WaitlistEnded || during.CalledOff || limit != nil && len(w.list) >= *limit {
			t.Fatalf("%d must not be waitlisted: seats %v, list %v, %+v", n.Ticket, w.seats, w.list, during)
		}
		w.list = append(w.list, n.Ticket)
	case enroll.MailPromoted:
		if !listed || n.Ticket != slices.Min(w.list) || !seatFree || during.WaitlistEnded || during.CalledOff {
			t.Fatalf("%d must not be promoted: seats %v, list %v, %+v", n.Ticket, w.seats, w.list, during)
		}
		w.list, w.seats = slices.DeleteFunc(w.list, is), append(w.seats, n.Ticket)
	case enroll.MailCancelled:
		if !seated && !listed {
			t.Fatalf("%d has nothing to give up", n.Ticket)
		}
	case enroll.MailNotPromoted:
		if !listed || !during.WaitlistEnded || during.CalledOff {
			t.Fatalf("%d must not be told that it is not promoted", n.Ticket)
		}
	case enroll.MailCalledOff:
		if !during.CalledOff || !seated && !listed && !news {
			t.Fatalf("%d must not be told that the run is called off", n.Ticket)
		}
	case enroll.MailAlreadyRegistered:
		if !seated && !listed {
			t.Fatalf("%d must not be told of a second request: it has neither a seat nor a place", n.Ticket)
		}
	case enroll.MailFull:
		if r := w.line[n.Ticket-1]; !news || !r.Notify || during.CalledOff || seatFree && (len(w.list) == 0 || r.Late) {
			t.Fatalf("%d must not be told that the run is full: seats %v, list %v, %+v", n.Ticket, w.seats, w.list, during)
		}
	default:
		t.Fatalf("unknown notice: %+v", n)
	}
	switch n.Mail {
	case enroll.MailCancelled, enroll.MailNotPromoted, enroll.MailCalledOff:
		w.seats, w.list = slices.DeleteFunc(w.seats, is), slices.DeleteFunc(w.list, is)
	default:
	}
	w.decided[n.Ticket] = true
	if !slices.IsSorted(w.list) {
		t.Fatalf("the list is not in ticket order: %v", w.list)
	}
}

// legal lists the legal changes of status in one call, with their reasons.
var legal = map[enroll.Kind]map[enroll.Status]map[enroll.Status][]enroll.Reason{
	enroll.Register: {
		enroll.Queued: {
			enroll.Confirmed:  {""},
			enroll.Waitlisted: {""},
			enroll.Rejected:   {enroll.Full, enroll.AlreadyRegistered, enroll.WaitlistTooLong, enroll.RunCalledOff},
			enroll.Cancelled:  {"", enroll.Removed},
		},
		enroll.Waitlisted: {
			enroll.Confirmed:   {""},
			enroll.Cancelled:   {"", enroll.Removed, enroll.RunCalledOff},
			enroll.NotPromoted: {""},
		},
		enroll.Confirmed: {enroll.Cancelled: {"", enroll.Removed, enroll.RunCalledOff}},
	},
	enroll.Cancel:        {enroll.Queued: {enroll.Done: {"", enroll.NoEffect}}},
	enroll.Resize:        {enroll.Queued: {enroll.Done: {""}}},
	enroll.CloseWaitlist: {enroll.Queued: {enroll.Done: {"", enroll.NoEffect}}},
	enroll.CallOff:       {enroll.Queued: {enroll.Done: {"", enroll.NoEffect}}},
}

// TestSettleKeepsThePromises checks what people are promised: nobody overtakes,
// no seat is given twice, nobody has two seats, no seat stays empty while people
// wait for it, and everybody gets an answer.
func TestSettleKeepsThePromises(t *testing.T) {
	seen := &sightings{expected: []string{
		"told confirmed", "told waitlisted", "told promoted", "told not_promoted", "told cancelled", "told called_off", "told full", "told already_registered",
	}}
	often(t, seen, func(t *rapid.T) {
		c := drawCourse(t)
		saw := make(map[string]bool)
		defer seen.add(saw)
		d, w := newDesk(c), witness{line: c.line, decided: make(map[int64]bool)}
		for !d.done() {
			if d.calls > 10*len(c.line) {
				t.Fatalf("%d calls, and only %d of %d are decided", d.calls, d.settled, len(c.line))
			}
			before, requests, s := d.settle(t, rapid.IntRange(1, 9).Draw(t, "piece"))

			during := s.Counts // the limits change before anything else in a call
			moved := make([]int64, 0, len(s.Notices))
			promotions := 0 // beyond those that cancels allow
			for _, r := range requests[:len(s.Outcomes)] {
				if r.Kind == enroll.Cancel && !r.Late {
					promotions--
				}
			}
			for _, n := range s.Notices {
				if n.Mail == enroll.MailPromoted {
					promotions++
				}
				saw["told "+string(n.Mail)] = true
				w.hear(t, n, during)
				if n.Ticket < requests[0].Ticket && n.Mail != enroll.MailAlreadyRegistered && !slices.Contains(moved, n.Ticket) {
					moved = append(moved, n.Ticket)
				}
			}
			if promotions > 0 && (requests[0].Kind != enroll.Resize || requests[0].Late) {
				t.Fatalf("%d promotions without a seat given up in time: %v", promotions, s.Notices)
			}
			changed := make([]int64, len(s.Changed))
			for i, o := range s.Changed {
				changed[i] = o.Ticket
			}
			if !slices.Equal(changed, moved) {
				t.Fatalf("changed %v, but told of %v", changed, moved)
			}

			for _, o := range slices.Concat(s.Outcomes, s.Changed) {
				if !slices.Contains(legal[c.line[o.Ticket-1].Kind][o.Before][o.Status], o.Reason) {
					t.Fatalf("a %s must not become %+v", c.line[o.Ticket-1].Kind, o)
				}
			}
			if requests[0].Kind != enroll.Resize && (during.Capacity != before.Capacity || during.WaitlistCapacity != before.WaitlistCapacity) {
				t.Fatalf("the limits were %+v, and are %+v after a %s", before, during, requests[0].Kind)
			}
			if before.WaitlistEnded && !during.WaitlistEnded || before.CalledOff && !during.CalledOff || during.CalledOff && !during.WaitlistEnded {
				t.Fatalf("the run was %+v, and is %+v", before, during)
			}
			for i, r := range requests {
				if many := r.Kind != enroll.Register && r.Kind != enroll.Cancel; many && (i > 0 && len(s.Outcomes) > i || i == 0 && len(s.Outcomes) > 1) {
					t.Fatalf("a %s is settled together with others", r.Kind)
				}
			}

			slices.Sort(w.seats)
			if got := tickets(d.seated); !slices.Equal(got, w.seats) {
				t.Fatalf("the seats are %v, but told are %v", got, w.seats)
			}
			if got := tickets(d.listed); !slices.Equal(got, w.list) {
				t.Fatalf("the list is %v, but told is %v", got, w.list)
			}
			for _, r := range requests[:len(s.Outcomes)] {
				w.late = w.late || r.Late
			}
			free := during.Capacity == nil || len(d.seated) < *during.Capacity
			if inMidst := len(s.Outcomes) == 0; free && len(d.listed) > 0 && !w.late && !inMidst {
				t.Fatalf("%v wait and see %d of %v seats held", d.listed, len(d.seated), during.Capacity)
			}
		}
		for i, s := range d.statuses {
			if s.status == enroll.Queued {
				t.Errorf("ticket %d was never decided", i+1)
			}
			if s.reason != "" && s.reason.Message() == "" {
				t.Errorf("ticket %d has a reason without a message: %s", i+1, s.reason)
			}
		}
		if d.counts.CalledOff && len(d.seated)+len(d.listed) > 0 || d.counts.WaitlistEnded && len(d.listed) > 0 {
			t.Errorf("%v have seats and %v wait in %+v", d.seated, d.listed, d.counts)
		}
	})
}
