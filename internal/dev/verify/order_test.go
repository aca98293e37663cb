package verify

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/enroll"
)

// at returns an instant so many milliseconds after a fixed start.
func at(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }

func TestOvertakers(t *testing.T) {
	t.Parallel()
	person := func(ticket int64, sent, answered int) *clients.Submission {
		return &clients.Submission{Registration: clients.Registration{Ticket: ticket}, Sent: at(sent), Answered: at(answered)}
	}
	for _, test := range []struct {
		name        string
		submissions []*clients.Submission
		want        int
	}{
		{"nobody", nil, 0},
		{"one after the other", []*clients.Submission{person(1, 0, 10), person(2, 20, 30)}, 0},
		{"at once, in any order", []*clients.Submission{person(2, 0, 10), person(1, 5, 30)}, 0},
		{"the later one is first", []*clients.Submission{person(2, 0, 10), person(1, 20, 30)}, 1},
		{"all are before the one that was answered first", []*clients.Submission{person(3, 0, 10), person(1, 20, 30), person(2, 25, 40)}, 2},
	} {
		if got := overtakers(test.submissions); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestFindLost(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	line := []Entry{{ID: id, Ticket: 1, Kind: enroll.Register}, {Ticket: 2, Kind: enroll.Cancel, Target: 1}, {Ticket: 3, Kind: enroll.Resize}}
	for _, test := range []struct {
		name                                string
		registration, cancellation, resized int64
		lost                                int
	}{
		{"all there", 1, 2, 3, 0},
		{"another ticket", 2, 2, 3, 1},
		{"beyond the end", 1, 4, 5, 2},
		{"other requests stand there", 1, 3, 2, 2},
	} {
		s := &clients.Submission{
			Registration: clients.Registration{ID: id, Ticket: test.registration}, Cancels: []clients.CancelAnswer{{Ticket: test.cancellation}},
		}
		change := clients.Answer{Registration: clients.Registration{Ticket: test.resized}}
		var r Result
		r.FindLost([]*clients.Submission{s}, []clients.Answer{change}, Ledger{Line: line})
		if r.Lost != test.lost || len(r.Findings) != test.lost {
			t.Errorf("%s: %d lost, want %d: %q", test.name, r.Lost, test.lost, r.Findings)
		}
	}
}
