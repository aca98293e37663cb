package enroll_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// boxOffice is settling done the slow and obvious way: one person at a time, a
// list of who holds a seat, and a look through the whole list for each.
type boxOffice struct {
	capacity *int
	holders  []enroll.AddressKey
	decided  []enroll.Outcome
}

func (b *boxOffice) serve(key enroll.AddressKey) {
	outcome := enroll.Outcome{Ticket: int64(len(b.decided) + 1)}
	holdsOne := false
	for _, holder := range b.holders {
		if holder == key {
			holdsOne = true
		}
	}
	switch {
	case holdsOne:
		outcome.Status, outcome.Reason, outcome.Mail = enroll.Rejected, enroll.AlreadyRegistered, enroll.MailAlreadyRegistered
	case b.capacity == nil || len(b.holders) < *b.capacity:
		outcome.Status, outcome.Mail = enroll.Confirmed, enroll.MailConfirmed
		b.holders = append(b.holders, key)
	default:
		outcome.Status, outcome.Reason = enroll.Rejected, enroll.Full
		if wantsMail(outcome.Ticket) {
			outcome.Mail = enroll.MailFull
		}
	}
	b.decided = append(b.decided, outcome)
}

// wantsMail tells who of the line wants to be told of a refusal: every second.
func wantsMail(ticket int64) bool { return ticket%2 == 0 }

// desk is the code under test, fed as a lane feeds it: with the seats held, and
// for each request whether its address holds one before the batch.
type desk struct {
	seats   enroll.Seats
	holders []enroll.AddressKey
	decided []enroll.Outcome
}

func (d *desk) settle(t *rapid.T, keys []enroll.AddressKey) {
	requests := make([]enroll.Request, len(keys))
	for i, key := range keys {
		ticket := int64(len(d.decided) + i + 1)
		requests[i] = enroll.Request{Ticket: ticket, Key: key, Holds: slices.Contains(d.holders, key), Notify: wantsMail(ticket)}
	}
	seats, untouched := d.seats, slices.Clone(requests)
	after, outcomes := enroll.Settle(d.seats, requests)
	if d.seats != seats || !slices.Equal(requests, untouched) {
		t.Fatal("Settle changed its arguments")
	}
	if len(outcomes) != len(keys) {
		t.Fatalf("%d outcomes for %d requests", len(outcomes), len(keys))
	}
	for i, outcome := range outcomes {
		if outcome.Status == enroll.Confirmed {
			d.holders = append(d.holders, keys[i])
		}
	}
	d.seats, d.decided = after, append(d.decided, outcomes...)
}

// stretch is a piece of a line during which the capacity stays the same.
type stretch struct {
	capacity *int
	keys     []enroll.AddressKey
}

// some returns n addresses with the prefix.
func some(prefix string, n int) []enroll.AddressKey {
	keys := make([]enroll.AddressKey, n)
	for i := range keys {
		keys[i] = enroll.AddressKey(fmt.Sprintf("%s%d@example.org", prefix, i))
	}
	return keys
}

// drawHolders draws who holds a seat at the start: some who never ask again
// and some of those who will.
func drawHolders(t *rapid.T, pool []enroll.AddressKey) []enroll.AddressKey {
	holders := some("early", rapid.IntRange(0, 5).Draw(t, "seats held by others"))
	return append(holders, pool[:rapid.IntRange(0, len(pool)).Draw(t, "seats held by who asks again")]...)
}

func drawLine(t *rapid.T, pool []enroll.AddressKey, holders int) stretch {
	capacity := rapid.Ptr(rapid.IntRange(0, holders+len(pool)+1), true).Draw(t, "capacity")
	return stretch{capacity, rapid.SliceOfN(rapid.SampledFrom(pool), 0, 40).Draw(t, "line")}
}

// TestSettleAgreesWithABoxOffice compares whole runs, in which the capacity
// changes now and then, settled in three ways.
func TestSettleAgreesWithABoxOffice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := some("p", rapid.IntRange(1, 12).Draw(t, "people"))
		holders := drawHolders(t, pool)
		start := desk{seats: enroll.Seats{Taken: len(holders)}, holders: slices.Clip(holders)}
		model := boxOffice{holders: slices.Clip(holders)}
		whole, cut := start, start
		for range rapid.IntRange(1, 4).Draw(t, "stretches") {
			stretch := drawLine(t, pool, len(model.holders))
			model.capacity, whole.seats.Capacity, cut.seats.Capacity = stretch.capacity, stretch.capacity, stretch.capacity

			for _, key := range stretch.keys {
				model.serve(key)
			}
			whole.settle(t, stretch.keys)
			for rest := stretch.keys; len(rest) > 0; {
				if rapid.Bool().Draw(t, "empty batch") {
					cut.settle(t, nil)
				}
				n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
				cut.settle(t, rest[:n])
				rest = rest[n:]
			}
		}
		for _, way := range []struct {
			name string
			desk
		}{{"in one batch", whole}, {"in pieces", cut}} {
			if !slices.Equal(way.decided, model.decided) {
				t.Errorf("%s:\n got %v\nwant %v", way.name, way.decided, model.decided)
			}
			if way.seats.Taken != len(model.holders) {
				t.Errorf("%s: %d seats taken, want %d", way.name, way.seats.Taken, len(model.holders))
			}
		}
	})
}

// TestSettleKeepsThePromises states what must hold without saying how it is
// done.
func TestSettleKeepsThePromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := some("p", rapid.IntRange(1, 12).Draw(t, "people"))
		holders := drawHolders(t, pool)
		run := drawLine(t, pool, len(holders))
		d := desk{seats: enroll.Seats{Capacity: run.capacity, Taken: len(holders)}, holders: slices.Clip(holders)}
		d.settle(t, run.keys)

		if run.capacity != nil && d.seats.Taken > max(*run.capacity, len(holders)) {
			t.Errorf("%d seats taken of %d, %d before", d.seats.Taken, *run.capacity, len(holders))
		}
		if d.seats.Taken < len(holders) {
			t.Errorf("%d seats taken, %d before: somebody lost one", d.seats.Taken, len(holders))
		}
		if d.seats.Taken != len(d.holders) {
			t.Errorf("%d seats taken, %d people hold one", d.seats.Taken, len(d.holders))
		}
		if sorted := slices.Sorted(slices.Values(d.holders)); len(slices.Compact(sorted)) != len(d.holders) {
			t.Errorf("an address has two seats: %v", d.holders)
		}

		// Eligible is the first request of each address without a seat.
		var eligible, confirmed []int64
		asked := slices.Clone(holders)
		for i, outcome := range d.decided {
			if outcome.Ticket != int64(i+1) {
				t.Fatalf("outcome %d is of ticket %d", i, outcome.Ticket)
			}
			if !slices.Contains(asked, run.keys[i]) {
				asked, eligible = append(asked, run.keys[i]), append(eligible, outcome.Ticket)
			}
			switch {
			case outcome.Status == enroll.Confirmed && outcome.Reason == "":
				confirmed = append(confirmed, outcome.Ticket)
			case outcome.Status == enroll.Rejected && (outcome.Reason == enroll.Full || outcome.Reason == enroll.AlreadyRegistered):
			default:
				t.Errorf("no such outcome: %+v", outcome)
			}
		}
		seats := len(eligible)
		if run.capacity != nil {
			seats = min(seats, max(*run.capacity-len(holders), 0))
		}
		if want := eligible[:seats]; !slices.Equal(confirmed, want) {
			t.Errorf("confirmed %v, want the smallest eligible tickets %v", confirmed, want)
		}
	})
}
