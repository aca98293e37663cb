package enroll_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/linemodel"
)

// inOrder sorts what a call-off told by ticket: its order depends on how many
// were moved in each call.
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

// TestSettleAgreesWithTheModel compares whole lines, settled in four ways.
func TestSettleAgreesWithTheModel(t *testing.T) {
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

		model := linemodel.New(c.start.Capacity, c.start.WaitlistCapacity)
		var outcomes []statusAndWhy
		for _, r := range c.line {
			waits := r.Late && model.Waiting() > 0 && !model.Ended
			room := r.Late && !model.Ended && (model.Places == nil || model.Waiting() < *model.Places)
			gives := model.Outcome(r.Target.Ticket).Status == enroll.Confirmed
			model.Settle(r)
			note := func(what string, is bool) { saw[what] = saw[what] || is }
			o := model.Outcome(r.Ticket)
			note("late cancel, and people wait", waits && gives && model.SeatFree())
			note("late resize, and people wait", waits && r.Kind == enroll.Resize && model.SeatFree())
			note("late register is seated, and people wait", waits && o.Status == enroll.Confirmed)
			note("late register is refused, with room on the list", room && o.Reason == enroll.Full)
			saw["over capacity"] = saw["over capacity"] || model.Capacity != nil && model.Taken() > *model.Capacity
		}
		for _, r := range c.line {
			o := model.Outcome(r.Ticket)
			outcomes = append(outcomes, statusAndWhy{o.Status, o.Reason, o.Changed})
			saw[string(o.Status)+" "+string(o.Reason)] = true
		}
		for _, n := range model.Notices {
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

		told := inOrder(model.Notices)
		for _, way := range []struct {
			name string
			*desk
		}{{"one at a time", alone}, {"in pieces", pieces}, {"in equal pieces", equal}, {"together", whole}} {
			if !slices.Equal(way.statuses, outcomes) {
				t.Errorf("%s:\n got %v\nwant %v", way.name, way.statuses, outcomes)
			}
			if got, want := tickets(way.listed), model.Tickets(enroll.Waitlisted); !slices.Equal(got, want) {
				t.Errorf("%s: the list is %v, want %v", way.name, got, want)
			}
			if got, want := tickets(way.seated), model.Tickets(enroll.Confirmed); !slices.Equal(got, want) {
				t.Errorf("%s: the seats are %v, want %v", way.name, got, want)
			}
			if got := inOrder(way.notices); !slices.Equal(got, told) {
				t.Errorf("%s: told\n got %v\nwant %v", way.name, got, told)
			}
			want := enroll.RunCounts{
				Capacity: model.Capacity, WaitlistCapacity: model.Places, Taken: model.Taken(), Waiting: model.Waiting(),
				WaitlistEnded: model.Ended, CalledOff: model.CalledOff,
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
