package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// toldRight are two people who were told what is so: the first was confirmed and
// has cancelled from two devices, the second waits.
func toldRight() ([]*click, ledger) {
	now := time.Now()
	at := func(n int) time.Time { return now.Add(time.Duration(n) * time.Second) }
	told := func(n int, status enroll.Status, position int) telling {
		return telling{asked: at(n), answered: at(n).Add(time.Millisecond), status: status, position: position}
	}
	first := &click{
		person: 0, email: "a@example.org",
		registration: registration{ID: uuid.New(), Ticket: 1, Status: enroll.Cancelled},
		told:         []telling{told(0, enroll.Queued, 0), told(1, enroll.Confirmed, 0), told(2, enroll.Cancelled, 0)},
		cancels:      []cancelAnswer{{code: 202, ticket: 3}, {code: 200, ticket: 3}},
	}
	second := &click{
		person: 1, email: "b@example.org",
		registration: registration{ID: uuid.New(), Ticket: 2, Status: enroll.Waitlisted, WaitlistPosition: new(1)},
		told:         []telling{told(0, enroll.Queued, 0), told(1, enroll.Waitlisted, 2), told(2, enroll.Waitlisted, 1)},
	}
	return []*click{first, second}, ledger{
		line: []entry{
			{ID: first.ID, Ticket: 1, Kind: enroll.Register, Key: first.email, Status: enroll.Cancelled},
			{ID: second.ID, Ticket: 2, Kind: enroll.Register, Key: second.email, Status: enroll.Waitlisted},
			{ID: uuid.New(), Ticket: 3, Kind: enroll.Cancel, Target: 1, Status: enroll.Done},
		},
		waiting: []holding{{2, second.email}},
	}
}

func TestVerdictComparesWhatPeopleWereTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		doctor func(first, second *click, l *ledger)
		want   string // "" = nothing is wrong
	}{
		{"all right", func(first, second *click, l *ledger) {}, ""},
		{
			"another status", func(first, second *click, l *ledger) { second.Status = enroll.Confirmed },
			"person 1 was told ticket 2 confirmed, and the line says 2 waitlisted",
		}, {
			"another ticket", func(first, second *click, l *ledger) { second.Ticket = 5 },
			"person 1 was told ticket 5 waitlisted, and the line says 2 waitlisted",
		}, {
			"another address", func(first, second *click, l *ledger) { l.at(2).Key = "c@example.org" },
			"person 1 was told ticket 2",
		}, {
			"lost", func(first, second *click, l *ledger) { second.ID = uuid.New() },
			"person 1 was told ticket 2 waitlisted, and the line says 0",
		}, {
			"somebody else", func(first, second *click, l *ledger) {
				l.line = append(l.line, entry{ID: uuid.New(), Ticket: 4, Kind: enroll.Register})
			},
			"3 requests are in the line, 2 were accepted",
		}, {
			"another place", func(first, second *click, l *ledger) { second.WaitlistPosition = new(2) },
			"ticket 2 was told another place on the waiting list than its 1",
		}, {
			"back", func(first, second *click, l *ledger) { slices.Reverse(first.told); reorder(first.told) },
			"ticket 1 was told confirmed after it was told cancelled",
		}, {
			"back from a refusal", func(first, second *click, l *ledger) { first.told[1].status = enroll.Rejected },
			"ticket 1 was told cancelled after it was told rejected",
		}, {
			"back, in answers that were on their way at once", func(first, second *click, l *ledger) {
				first.told[2].asked, first.told[1].answered = first.told[1].asked, first.told[2].answered
				first.told[1].status, first.told[2].status = first.told[2].status, first.told[1].status
			},
			"",
		}, {
			"further back on the list", func(first, second *click, l *ledger) { second.told[1].position, second.told[2].position = 1, 2 },
			"ticket 2 was told place 2 on the waiting list after place 1",
		}, {
			"a cancellation that is not there", func(first, second *click, l *ledger) { l.line = l.line[:2] },
			"ticket 1 was told that it is cancelled, and nothing in the line does so",
		}, {
			"another cancellation", func(first, second *click, l *ledger) { first.cancels[1].ticket = 4 },
			"ticket 1 was told that ticket 4 cancels it, and ticket 3 does",
		}, {
			"a cancellation too many", func(first, second *click, l *ledger) {
				l.line = append(l.line, entry{Ticket: 4, Kind: enroll.Cancel, Target: 1})
			},
			"ticket 4 cancels ticket 1, as ticket 3 does",
		}, {
			"nobody cancelled", func(first, second *click, l *ledger) { first.cancels = nil },
			"ticket 3 cancels ticket 1, and nobody was told so",
		}, {
			"a cancellation of nobody", func(first, second *click, l *ledger) {
				l.line = append(l.line, entry{Ticket: 4, Kind: enroll.Cancel, Target: 3})
			},
			"ticket 4 cancels ticket 3, and nobody asked for it",
		}, {
			"not held, who waits", func(first, second *click, l *ledger) {
				second.cancels = []cancelAnswer{{code: 409, problem: "not_held"}}
			},
			`ticket 2 is waitlisted, and whoever cancelled it was told "not_held"`,
		}, {
			"not held, who was refused", func(first, second *click, l *ledger) {
				second.cancels = []cancelAnswer{{code: 409, problem: "not_held"}}
				second.Status, l.at(2).Status = enroll.Rejected, enroll.Rejected
			},
			"",
		}, {
			"begun", func(first, second *click, l *ledger) {
				second.cancels = []cancelAnswer{{code: 409, problem: "begun"}}
			},
			`ticket 2 is waitlisted, and whoever cancelled it was told "begun"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			clicks, l := toldRight()
			test.doctor(clicks[0], clicks[1], &l)
			var r result
			r.judgeTold(clicks, l)
			if got := strings.Join(r.wrong, "\n"); !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// reorder gives the tellings the times of one another, so that they come in the
// order in which they stand.
func reorder(told []telling) {
	base := time.Now()
	for i := range told {
		told[i].asked = base.Add(time.Duration(i) * time.Second)
		told[i].answered = told[i].asked.Add(time.Millisecond)
	}
}
