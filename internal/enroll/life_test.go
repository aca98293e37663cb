package enroll_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

var (
	opens  = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	closes = time.Date(2026, 9, 8, 8, 0, 0, 0, time.UTC)
	starts = time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC)
	ends   = time.Date(2026, 10, 2, 8, 0, 0, 0, time.UTC)
)

// usual is a run whose registration closes before it begins. long is a run whose
// window outlasts it.
func usual() enroll.Run {
	return enroll.Run{OpensAt: opens, ClosesAt: closes, StartsAt: starts, EndsAt: ends}
}

func long() enroll.Run {
	r := usual()
	r.ClosesAt = ends.AddDate(0, 1, 0)
	return r
}

// TestLife goes through the table of a run's life in docs/design.md.
func TestLife(t *testing.T) {
	t.Parallel()
	with := func(r enroll.Run, change func(*enroll.Run)) enroll.Run {
		change(&r)
		return r
	}
	until := func(at time.Time) func(*enroll.Run) { return func(r *enroll.Run) { r.PromoteUntil = at } }
	calledOff := func(r *enroll.Run) { r.CalledOff = true }
	berlin := time.FixedZone("CEST", 2*60*60)
	before := -time.Nanosecond
	for _, test := range []struct {
		name string
		run  enroll.Run
		now  time.Time
		want string
	}{
		{"long before", usual(), opens.AddDate(-1, 0, 0), "not_open"},
		{"just before it opens", usual(), opens.Add(before), "not_open"},
		{"when it opens", usual(), opens, "open"},
		{"when it opens, in another zone", usual(), opens.In(berlin), "open"},
		{"just before it closes", usual(), closes.Add(before), "open"},
		{"when it closes", usual(), closes, "closed"},
		{"when it closes, in another zone", usual(), closes.In(berlin), "closed"},
		{"just before the begin", usual(), starts.Add(before), "closed"},
		{"when it begins", usual(), starts, "closed, begun, list ended"},
		{"when it begins, with the window open", long(), starts, "open, begun, list ended"},
		{"just before the end, with the window open", long(), ends.Add(before), "open, begun, list ended"},
		{"when it ends, with the window open", long(), ends, "over, begun, list ended"},
		{"long after", usual(), ends.AddDate(1, 0, 0), "over, begun, list ended"},
		{"a window that opens after the run", with(usual(), func(r *enroll.Run) { r.OpensAt, r.ClosesAt = ends.Add(1), ends.Add(2) }), ends, "over, begun, list ended"},

		{"before a list that ends early", with(usual(), until(closes)), closes.Add(before), "open"},
		{"when a list ends early", with(usual(), until(closes)), closes, "closed, list ended"},
		{"after the begin of a run whose list goes on", with(long(), until(ends)), starts, "open, begun"},
		{"when the run ends before its list would", with(long(), until(ends.AddDate(1, 0, 0))), ends, "over, begun, list ended"},
		{"a start that moves takes the list along", with(usual(), func(r *enroll.Run) { r.StartsAt = starts.Add(time.Hour) }), starts, "closed"},
		{"a list that the line ended", with(usual(), func(r *enroll.Run) { r.WaitlistEnded = true }), opens, "open, list ended"},

		{"called off before it opens", with(usual(), calledOff), opens.Add(before), "called_off, list ended"},
		{"called off with the window open", with(usual(), calledOff), opens, "called_off, list ended"},
		{"called off and over", with(usual(), calledOff), ends, "called_off, begun, list ended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := enroll.RunState{Run: test.run, Now: test.now}.Life()
			got := []string{string(l.Window)}
			if l.Begun {
				got = append(got, "begun")
			}
			if l.ListEnded {
				got = append(got, "list ended")
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}

// TestRefusal goes through the answers in the same table.
func TestRefusal(t *testing.T) {
	t.Parallel()
	registers := map[enroll.Window][2]enroll.Code{ // of a person, and of an organiser
		enroll.NotOpen: {enroll.RunNotOpen, ""}, enroll.Open: {"", ""}, enroll.Closed: {enroll.RunClosed, ""},
		enroll.Over: {enroll.RunOver, enroll.RunOver}, enroll.WindowCalledOff: {enroll.CodeCalledOff, enroll.CodeCalledOff},
	}
	for window, codes := range registers {
		for _, begun := range []bool{false, true} {
			for _, ended := range []bool{false, true} {
				l := enroll.Life{Window: window, Begun: begun, ListEnded: ended}
				want := map[string]enroll.Code{
					"register false ": codes[0], "register true ": codes[1],
					"cancel false confirmed": map[bool]enroll.Code{true: enroll.RunBegun}[begun],
				}
				for _, kind := range []enroll.Kind{enroll.Register, enroll.Cancel, enroll.Resize, enroll.CloseWaitlist, enroll.CallOff} {
					for _, byOrganiser := range []bool{false, true} {
						for _, target := range []enroll.Status{"", enroll.Queued, enroll.Confirmed, enroll.Waitlisted, enroll.Cancelled} {
							if (kind == enroll.Cancel) != (target != "") {
								continue
							}
							asked := fmt.Sprintf("%s %t %s", kind, byOrganiser, target)
							if got := l.Refusal(kind, byOrganiser, target); got != want[asked] {
								t.Errorf("%+v: %s gets %q, want %q", l, asked, got, want[asked])
							}
						}
					}
				}
				for status, may := range map[enroll.Status]bool{
					enroll.Confirmed: !begun, enroll.Waitlisted: true, enroll.Queued: false, enroll.Rejected: false, enroll.Cancelled: false, enroll.NotPromoted: false,
				} {
					if l.MayGiveUp(status) != may {
						t.Errorf("%+v: MayGiveUp(%s) is %t", l, status, !may)
					}
				}
				if l.MayRegister() != (window == enroll.Open) {
					t.Errorf("%+v: MayRegister is %t", l, l.MayRegister())
				}
			}
		}
	}
}

func TestSeats(t *testing.T) {
	t.Parallel()
	during := func(change func(*enroll.RunState)) enroll.RunState {
		r := enroll.RunState{Run: usual(), Now: opens}
		change(&r)
		return r
	}
	for _, test := range []struct {
		name     string
		capacity *int
		taken    int
		left     *int
		over     bool
		change   func(*enroll.RunState)
	}{
		{"an unlimited run has no number of seats left", nil, 1000, nil, false, nil},
		{"an empty run has all seats left", new(20), 0, new(20), false, nil},
		{"a run with one seat left", new(20), 19, new(1), false, nil},
		{"a full run has none left and is not over capacity", new(20), 20, new(0), false, nil},
		{"a run over capacity has none left", new(20), 21, new(0), true, nil},
		{"a run of no seats has none left", new(0), 0, new(0), false, nil},
		{"a run lowered to no seats is over capacity", new(0), 1, new(0), true, nil},
		{"a free seat is kept for the waiting list", new(20), 19, new(0), false, func(r *enroll.RunState) { r.WaitingCount = 1 }},
		{"a seat is free when the list's time has come", new(20), 19, new(1), false, func(r *enroll.RunState) { r.WaitingCount, r.Now = 1, starts }},
		{"a run that is over has none left", new(20), 19, new(0), false, func(r *enroll.RunState) { r.Now = ends }},
		{"a run that is called off has none left", nil, 0, new(0), false, func(r *enroll.RunState) { r.CalledOff = true }},
		{"a run has all seats left before it opens", new(20), 0, new(20), false, func(r *enroll.RunState) { r.Now = opens.Add(-1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run := during(func(r *enroll.RunState) { r.Capacity, r.AttendancesCount = test.capacity, test.taken })
			if test.change != nil {
				test.change(&run)
			}
			left := run.SeatsLeft()
			if (left == nil) != (test.left == nil) || left != nil && *left != *test.left {
				t.Errorf("%v seats left, want %v", left, test.left)
			}
			if run.OverCapacity() != test.over {
				t.Errorf("over capacity is %t", run.OverCapacity())
			}
		})
	}
	t.Run("what is returned is not the run's own capacity", func(t *testing.T) {
		t.Parallel()
		run := during(func(r *enroll.RunState) { r.Capacity = new(5) })
		*run.SeatsLeft() = 99
		if *run.Capacity != 5 {
			t.Errorf("the capacity became %d", *run.Capacity)
		}
	})
}
