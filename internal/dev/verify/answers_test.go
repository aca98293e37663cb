package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/enroll"
)

// toldRight returns two people who were told the truth: the first was confirmed
// and has cancelled from two devices, the second waits.
func toldRight() ([]*clients.Submission, Ledger) {
	now := time.Now()
	at := func(n int) time.Time { return now.Add(time.Duration(n) * time.Second) }
	told := func(n int, status enroll.Status, position int) clients.Observation {
		return clients.Observation{Asked: at(n), Answered: at(n).Add(time.Millisecond), Status: status, Position: position}
	}
	first := &clients.Submission{
		Person: 0, Email: "a@example.org",
		Registration: clients.Registration{ID: uuid.New(), Ticket: 1, Status: enroll.Cancelled},
		Observed:     []clients.Observation{told(0, enroll.Queued, 0), told(1, enroll.Confirmed, 0), told(2, enroll.Cancelled, 0)},
		Cancels:      []clients.CancelAnswer{{Status: 202, Ticket: 3}, {Status: 200, Ticket: 3}},
	}
	second := &clients.Submission{
		Person: 1, Email: "b@example.org",
		Registration: clients.Registration{ID: uuid.New(), Ticket: 2, Status: enroll.Waitlisted, WaitlistPosition: new(1)},
		Observed:     []clients.Observation{told(0, enroll.Queued, 0), told(1, enroll.Waitlisted, 2), told(2, enroll.Waitlisted, 1)},
	}
	return []*clients.Submission{first, second}, Ledger{
		Line: []Entry{
			{ID: first.ID, Ticket: 1, Kind: enroll.Register, Key: first.Email, Status: enroll.Cancelled},
			{ID: second.ID, Ticket: 2, Kind: enroll.Register, Key: second.Email, Status: enroll.Waitlisted},
			{ID: uuid.New(), Ticket: 3, Kind: enroll.Cancel, Target: 1, Status: enroll.Done},
		},
		Waiting: []Holding{{2, second.Email}},
	}
}

func TestCompareAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		doctor func(first, second *clients.Submission, l *Ledger)
		want   string // "" = nothing is wrong
	}{
		{"all right", func(first, second *clients.Submission, l *Ledger) {}, ""},
		{
			"another status", func(first, second *clients.Submission, l *Ledger) { second.Status = enroll.Confirmed },
			"person 1 was told ticket 2 confirmed, and the line says 2 waitlisted",
		}, {
			"another ticket", func(first, second *clients.Submission, l *Ledger) { second.Ticket = 5 },
			"person 1 was told ticket 5 waitlisted, and the line says 2 waitlisted",
		}, {
			"another address", func(first, second *clients.Submission, l *Ledger) { l.at(2).Key = "c@example.org" },
			"person 1 was told ticket 2",
		}, {
			"lost", func(first, second *clients.Submission, l *Ledger) { second.ID = uuid.New() },
			"person 1 was told ticket 2 waitlisted, and the line says 0",
		}, {
			"a request of another person", func(first, second *clients.Submission, l *Ledger) {
				l.Line = append(l.Line, Entry{ID: uuid.New(), Ticket: 4, Kind: enroll.Register})
			},
			"3 requests are in the line, 2 were accepted",
		}, {
			"another place", func(first, second *clients.Submission, l *Ledger) { second.WaitlistPosition = new(2) },
			"ticket 2 was told another place on the waiting list than its 1",
		}, {
			"back", func(first, second *clients.Submission, l *Ledger) {
				slices.Reverse(first.Observed)
				reorder(first.Observed)
			},
			"ticket 1 was told confirmed after it was told cancelled",
		}, {
			"back from a refusal", func(first, second *clients.Submission, l *Ledger) { first.Observed[1].Status = enroll.Rejected },
			"ticket 1 was told cancelled after it was told rejected",
		}, {
			"back, in answers that were on their way at once", func(first, second *clients.Submission, l *Ledger) {
				first.Observed[2].Asked, first.Observed[1].Answered = first.Observed[1].Asked, first.Observed[2].Answered
				first.Observed[1].Status, first.Observed[2].Status = first.Observed[2].Status, first.Observed[1].Status
			},
			"",
		}, {
			"further back on the list", func(first, second *clients.Submission, l *Ledger) {
				second.Observed[1].Position, second.Observed[2].Position = 1, 2
			},
			"ticket 2 was told place 2 on the waiting list after place 1",
		}, {
			"a cancellation that is not there", func(first, second *clients.Submission, l *Ledger) { l.Line = l.Line[:2] },
			"ticket 1 was told that it is cancelled, and nothing in the line does so",
		}, {
			"another cancellation", func(first, second *clients.Submission, l *Ledger) { first.Cancels[1].Ticket = 4 },
			"ticket 1 was told that ticket 4 cancels it, and ticket 3 does",
		}, {
			"a cancellation too many", func(first, second *clients.Submission, l *Ledger) {
				l.Line = append(l.Line, Entry{Ticket: 4, Kind: enroll.Cancel, Target: 1})
			},
			"ticket 4 cancels ticket 1, as ticket 3 does",
		}, {
			"nobody cancelled", func(first, second *clients.Submission, l *Ledger) { first.Cancels = nil },
			"ticket 3 cancels ticket 1, and nobody was told so",
		}, {
			"a cancellation of nobody", func(first, second *clients.Submission, l *Ledger) {
				l.Line = append(l.Line, Entry{Ticket: 4, Kind: enroll.Cancel, Target: 3})
			},
			"ticket 4 cancels ticket 3, and nobody asked for it",
		}, {
			"not held, but waiting", func(first, second *clients.Submission, l *Ledger) {
				second.Cancels = []clients.CancelAnswer{{Status: 409, Problem: "not_held"}}
			},
			`ticket 2 is waitlisted, and cancelling it was answered with "not_held"`,
		}, {
			"not held, and refused", func(first, second *clients.Submission, l *Ledger) {
				second.Cancels = []clients.CancelAnswer{{Status: 409, Problem: "not_held"}}
				second.Status, l.at(2).Status = enroll.Rejected, enroll.Rejected
			},
			"",
		}, {
			"begun", func(first, second *clients.Submission, l *Ledger) {
				second.Cancels = []clients.CancelAnswer{{Status: 409, Problem: "begun"}}
			},
			`ticket 2 is waitlisted, and cancelling it was answered with "begun"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			submissions, l := toldRight()
			test.doctor(submissions[0], submissions[1], &l)
			var r Result
			r.CompareAnswers(submissions, l)
			if got := strings.Join(r.Findings, "\n"); !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// reorder gives the observations new times, in the order in which they stand.
func reorder(told []clients.Observation) {
	base := time.Now()
	for i := range told {
		told[i].Asked = base.Add(time.Duration(i) * time.Second)
		told[i].Answered = told[i].Asked.Add(time.Millisecond)
	}
}

func TestALinkIsGoneAfterACorrection(t *testing.T) {
	t.Parallel()
	before, after := uuid.New(), uuid.New()
	for _, test := range []struct {
		name          string
		retired, gone bool
		wrong         bool
	}{
		{"corrected, and told so", true, true, false},
		{"corrected, and not told", true, false, true},
		{"told so, and not corrected", false, true, true},
	} {
		c := &clients.Submission{Email: "wrong", Gone: test.gone, Registration: clients.Registration{ID: before, Ticket: 1, Status: enroll.Confirmed}}
		e := Entry{ID: after, Ticket: 1, Kind: enroll.Register, Key: "right", FirstKey: "wrong", Status: enroll.Confirmed}
		l := Ledger{Line: []Entry{e}, Retired: map[uuid.UUID]int64{before: 1}}
		if !test.retired {
			e.ID, e.Key = before, "wrong"
			l = Ledger{Line: []Entry{e}}
		}
		var r Result
		r.CompareAnswers([]*clients.Submission{c}, l)
		if (len(r.Findings) > 0) != test.wrong {
			t.Errorf("%s: %q", test.name, r.Findings)
		}
	}
}
