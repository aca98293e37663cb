package verify

import (
	"testing"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TestExpectationFollowsCorrections has the owner of a mistyped address ask before and
// after it was corrected.
func TestExpectationFollowsCorrections(t *testing.T) {
	t.Parallel()
	line := []Entry{
		{Ticket: 1, Kind: enroll.Register, Key: "right", FirstKey: "wrong", Corrected: new(int64(3))},
		{Ticket: 2, Kind: enroll.Register, Key: "wrong"},
		{Ticket: 3, Kind: enroll.Register, Key: "right", FirstKey: "typo", Corrected: new(int64(3))},
		{Ticket: 4, Kind: enroll.Register, Key: "wrong"},
		{Ticket: 5, Kind: enroll.Register, Key: "right"},
	}
	line[2].Key = "other"
	got := expect(Run{Seats: 3, Places: new(5)}, line)
	for i, want := range []enroll.Status{enroll.Confirmed, enroll.Rejected, enroll.Confirmed, enroll.Confirmed, enroll.Rejected} {
		if o := got.Outcome(int64(i) + 1); o.Status != want {
			t.Errorf("ticket %d is %s, want %s", i+1, o.Status, want)
		}
	}
	if held := got.holdings(enroll.Confirmed); len(held) != 3 || held[0].Key != "right" || held[1].Key != "other" || held[2].Key != "wrong" {
		t.Errorf("seats are held by %v", held)
	}
}

func TestExpectationFollowsCapacitiesThatChange(t *testing.T) {
	t.Parallel()
	ask := func(ticket int64) Entry { return Entry{Ticket: ticket, Kind: enroll.Register, Key: uuid.NewString()} }
	line := []Entry{
		ask(1), ask(2), ask(3), // a seat, a place, and neither
		{Ticket: 4, Kind: enroll.Resize, Places: new(2)}, ask(5),
		{Ticket: 6, Kind: enroll.Resize, Seats: new(2)}, // 2 is promoted
		{Ticket: 7, Kind: enroll.Resize, Seats: new(0)}, // nobody loses a seat
		{Ticket: 8, Kind: enroll.Cancel, Target: 1},     // and nobody gets this one
	}
	run := Run{Seats: 1, Places: new(1), Resized: true}
	right := expect(run, line)
	want := []enroll.Status{enroll.Cancelled, enroll.Confirmed, enroll.Rejected, enroll.Done, enroll.Waitlisted, enroll.Done, enroll.Done, enroll.Done}
	for i, status := range want {
		if got := right.Outcome(int64(i) + 1).Status; got != status {
			t.Errorf("ticket %d is %s, want %s", i+1, got, status)
		}
	}
	if run.Resized = false; expect(run, line).Outcome(4).Status != "" {
		t.Error("in a rush, nobody changes a capacity")
	}
}
