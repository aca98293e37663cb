package enroll_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TestSettleContinues settles what takes several calls.
func TestSettleContinues(t *testing.T) {
	t.Parallel()
	register := func(ticket int64, key enroll.AddressKey) enroll.Request {
		return enroll.Request{Ticket: ticket, Kind: enroll.Register, Key: key}
	}
	line := func(many enroll.Request) []enroll.Request {
		many.Ticket = 8
		return []enroll.Request{
			register(1, "ada"), register(2, "bob"), register(3, "cy"), register(4, "dee"), register(5, "eve"), register(6, "fay"), register(7, "gus"),
			many, register(9, "hal"), register(10, "dee"),
		}
	}
	for _, test := range []struct {
		name    string
		many    enroll.Request
		calls   int // with two people in each
		want    enroll.Status
		reason  enroll.Reason
		settled [3]enroll.Status // of the request itself and the two after it
	}{
		{"five are promoted in three calls", enroll.Request{Kind: enroll.Resize, Change: enroll.Change{Capacity: most(7)}}, 3, enroll.Confirmed, "", [3]enroll.Status{enroll.Done, enroll.Waitlisted, enroll.Rejected}},
		{"four are promoted in two calls and one waits on", enroll.Request{Kind: enroll.Resize, Change: enroll.Change{Capacity: most(6)}}, 2, enroll.Confirmed, "", [3]enroll.Status{enroll.Done, enroll.Waitlisted, enroll.Rejected}},
		{"a list of five ends in three calls", enroll.Request{Kind: enroll.CloseWaitlist}, 3, enroll.NotPromoted, "", [3]enroll.Status{enroll.Done, enroll.Rejected, enroll.Rejected}},
		{"a run with a list of five is called off in three calls", enroll.Request{Kind: enroll.CallOff}, 3, enroll.Cancelled, enroll.RunCalledOff, [3]enroll.Status{enroll.Done, enroll.Rejected, enroll.Rejected}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(course{start: enroll.RunCounts{Capacity: new(2)}, line: line(test.many)})
			d.settle(t, 7)
			calls := 0
			for d.settled == 7 {
				if calls > 0 && d.statuses[7].status != enroll.Queued {
					t.Fatalf("%s is %s before everybody is moved", test.many.Kind, d.statuses[7].status)
				}
				d.settle(t, 2)
				calls++
				if d.settled > 8 {
					t.Fatalf("ticket %d is settled in the same call", d.settled)
				}
				first := statusAndWhy{test.want, test.reason, true}
				for i := 2; i < min(2+2*calls, 6); i++ {
					if d.statuses[i] != first {
						t.Errorf("ticket %d is %v after %d calls, want %v", i+1, d.statuses[i], calls, first)
					}
				}
			}
			if calls != test.calls {
				t.Errorf("it took %d calls, want %d", calls, test.calls)
			}
			for !d.done() {
				d.settle(t, 2)
			}
			if got := [3]enroll.Status{d.statuses[7].status, d.statuses[8].status, d.statuses[9].status}; got != test.settled {
				t.Errorf("it and what comes after it are %v, want %v", got, test.settled)
			}
			if reason := d.statuses[7].reason; reason != "" {
				t.Errorf("its reason is %s", reason)
			}
		})
	}
}
