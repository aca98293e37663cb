package enroll_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// line returns requests with the tickets 1, 2, 3 … for addresses that hold no
// seat yet.
func line(keys ...enroll.AddressKey) []enroll.Request {
	requests := make([]enroll.Request, len(keys))
	for i, key := range keys {
		requests[i] = enroll.Request{Ticket: int64(i + 1), Key: key}
	}
	return requests
}

// holding marks the request with the ticket as one of an address that holds a
// seat.
func holding(requests []enroll.Request, ticket int64) []enroll.Request {
	requests[ticket-1].Holds = true
	return requests
}

func TestSettle(t *testing.T) {
	t.Parallel()
	const confirmed, full, already = "confirmed", "full", "already_registered"
	for _, test := range []struct {
		name     string
		capacity *int
		taken    int
		line     []enroll.Request
		want     []string // the reason of a rejection, or confirmed
		after    int
	}{
		{"nobody asks and nothing changes", new(3), 2, nil, nil, 2},
		{"nobody gets a seat of none", new(0), 0, line("ada", "bob"), []string{full, full}, 0},
		{"the only seat goes to the first", new(1), 0, line("ada", "bob"), []string{confirmed, full}, 1},
		{"the last seat goes to the smallest ticket", new(20), 19, line("ada", "bob", "cy"), []string{confirmed, full, full}, 20},
		{"exactly as many seats as people", new(3), 0, line("ada", "bob", "cy"), []string{confirmed, confirmed, confirmed}, 3},
		{"a full run stays full", new(2), 2, line("ada"), []string{full}, 2},
		{"an unlimited run never fills", nil, math.MaxInt32, line("ada", "bob"), []string{confirmed, confirmed}, math.MaxInt32 + 2},
		{"unlimited is not none", nil, 0, line("ada"), []string{confirmed}, 1},
		{"a lowered capacity confirms nobody", new(5), 8, line("ada", "bob"), []string{full, full}, 8},
		{"a capacity lowered to none takes no seat away", new(0), 8, line("ada"), []string{full}, 8},
		{"a raised capacity gives the new seats only", new(4), 3, line("ada", "bob"), []string{confirmed, full}, 4},
		{"an address that asks twice gets one seat", new(3), 0, line("ada", "ada"), []string{confirmed, already}, 1},
		{"asking twice takes no seat from who comes next", new(2), 0, line("ada", "ada", "bob"), []string{confirmed, already, confirmed}, 2},
		{"asking often is refused each time", nil, 0, line("ada", "ada", "ada"), []string{confirmed, already, already}, 1},
		{"who got the last seat and asks again holds one", new(1), 0, line("ada", "ada", "bob"), []string{confirmed, already, full}, 1},
		{"an address that holds a seat gets no second", new(3), 1, holding(line("ada", "bob"), 1), []string{already, confirmed}, 2},
		{"an address that holds a seat in a full run holds it", new(1), 1, holding(line("ada", "bob"), 1), []string{already, full}, 1},
		{"an address that holds a seat in a lowered run holds it", new(1), 4, holding(line("ada"), 1), []string{already}, 4},
		{"a refused address may ask again and finds it full", new(1), 1, line("ada", "ada"), []string{full, full}, 1},
		{"addresses are compared as they are", nil, 0, line("ada", "Ada", "ada "), []string{confirmed, confirmed, confirmed}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seats, outcomes := enroll.Settle(enroll.Seats{Capacity: test.capacity, Taken: test.taken}, test.line)
			if seats.Taken != test.after || seats.Capacity != test.capacity {
				t.Errorf("seats afterwards are %+v, want %d taken of an unchanged capacity", seats, test.after)
			}
			if len(outcomes) != len(test.want) {
				t.Fatalf("got %d outcomes, want %d", len(outcomes), len(test.want))
			}
			for i, want := range test.want {
				outcome := enroll.Outcome{Ticket: test.line[i].Ticket, Status: enroll.Rejected, Reason: enroll.Reason(want)}
				switch want {
				case confirmed:
					outcome.Status, outcome.Reason, outcome.Mail = enroll.Confirmed, "", enroll.MailConfirmed
				case already:
					outcome.Mail = enroll.MailAlreadyRegistered
				}
				if outcomes[i] != outcome {
					t.Errorf("outcome %d is %+v, want %+v", i, outcomes[i], outcome)
				}
			}
		})
	}

	t.Run("a refused address gets a seat once there is one", func(t *testing.T) {
		t.Parallel()
		seats, outcomes := enroll.Settle(enroll.Seats{Capacity: new(1), Taken: 1}, line("ada"))
		if outcomes[0].Reason != enroll.Full {
			t.Fatalf("first outcome is %+v", outcomes[0])
		}
		seats.Capacity = new(2)
		seats, outcomes = enroll.Settle(seats, []enroll.Request{{Ticket: 2, Key: "ada"}, {Ticket: 3, Key: "ada"}})
		want := []enroll.Outcome{
			{Ticket: 2, Status: enroll.Confirmed, Mail: enroll.MailConfirmed},
			{Ticket: 3, Status: enroll.Rejected, Reason: enroll.AlreadyRegistered, Mail: enroll.MailAlreadyRegistered},
		}
		if !slices.Equal(outcomes, want) || seats.Taken != 2 {
			t.Errorf("got %+v with %d taken, want %+v with 2", outcomes, seats.Taken, want)
		}
	})

	t.Run("tells a refusal by mail to who wants that", func(t *testing.T) {
		t.Parallel()
		requests := line("ada", "bob", "cy")
		requests[0].Notify, requests[2].Notify = true, true
		_, outcomes := enroll.Settle(enroll.Seats{Capacity: new(1)}, requests)
		var told []enroll.MailKind
		for _, o := range outcomes {
			told = append(told, o.Mail)
		}
		if want := []enroll.MailKind{enroll.MailConfirmed, "", enroll.MailFull}; !slices.Equal(told, want) {
			t.Errorf("the mails are %q, want %q", told, want)
		}
	})

	t.Run("changes none of its arguments", func(t *testing.T) {
		t.Parallel()
		capacity := 2
		before := enroll.Seats{Capacity: &capacity, Taken: 1}
		requests := holding(line("ada", "bob", "bob", "cy"), 1)
		seats, untouched := before, slices.Clone(requests)
		enroll.Settle(seats, requests)
		if !reflect.DeepEqual(seats, before) || capacity != 2 || !slices.Equal(requests, untouched) {
			t.Errorf("the arguments became %+v with capacity %d, %+v", seats, capacity, requests)
		}
	})

	t.Run("keeps the tickets it is given", func(t *testing.T) {
		t.Parallel()
		_, outcomes := enroll.Settle(enroll.Seats{}, []enroll.Request{{Ticket: 41, Key: "ada"}, {Ticket: math.MaxInt64, Key: "bob"}})
		if outcomes[0].Ticket != 41 || outcomes[1].Ticket != math.MaxInt64 {
			t.Errorf("got %+v", outcomes)
		}
	})
}
