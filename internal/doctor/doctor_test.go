package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
)

// register returns the entry of a request for a seat.
func register(ticket int64, who string, status enroll.Status, reason enroll.Reason) doctor.Entry {
	return doctor.Entry{
		Request: enroll.Request{Ticket: ticket, Kind: enroll.Register, Key: enroll.AddressKey(who)}, Status: status, Reason: reason,
		Seat: status == enroll.Confirmed, Place: status == enroll.Waitlisted, AcceptedAt: time.Unix(ticket, 0),
	}
}

// unlimited returns an unlimited run with this many tickets, all settled, and
// this many seats held.
func unlimited(tickets int64, seats int) doctor.Run {
	return doctor.Run{
		Slug: "go-1", TimeZone: "Europe/Berlin", Counts: enroll.RunCounts{Taken: seats}, Settled: tickets, HasLine: true, Last: tickets, LastAcceptedAt: time.Unix(tickets, 0), Seats: seats,
	}
}

func check(r doctor.Run, line ...doctor.Entry) []string {
	c := doctor.NewCheckup(r)
	for _, e := range line {
		c.Next(e)
	}
	var found []string
	for _, f := range c.End() {
		found = append(found, f.String())
	}
	return found
}

func requireFound(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("found\n%q, want\n%q", got, want)
	}
}

func TestCheckup(t *testing.T) {
	t.Parallel()
	t.Run("describes what is wrong", func(t *testing.T) {
		t.Parallel()
		r := unlimited(2, 2)
		r.Counts.Taken = 1
		requireFound(t, check(r, register(1, "a", enroll.Confirmed, ""), register(2, "b", enroll.Confirmed, "")),
			"run go-1: attendances_count is 1, but 2 people have a seat")
	})
	t.Run("lists ten findings of a code and counts the rest", func(t *testing.T) {
		t.Parallel()
		var line []doctor.Entry
		for n := range int64(25) {
			line = append(line, register(n+1, fmt.Sprint(n), enroll.Rejected, enroll.Full))
		}
		got := check(unlimited(25, 0), line...)
		if len(got) != 11 || got[0] != "run go-1: ticket 1 is rejected (full), but settling the line again makes it confirmed" ||
			got[10] != "run go-1: … and 15 more tickets like this (outcome)" {
			t.Errorf("found %q", got)
		}
	})
	t.Run("believes already_registered while a corrected address is unknown", func(t *testing.T) {
		t.Parallel()
		corrected := register(1, "new", enroll.Confirmed, "")
		corrected.CorrectedAfter = 2
		requireFound(t, check(unlimited(4, 2), corrected, register(2, "old", enroll.Rejected, enroll.AlreadyRegistered),
			register(3, "old", enroll.Confirmed, ""), register(4, "new", enroll.Rejected, enroll.AlreadyRegistered)))
		requireFound(t, check(unlimited(4, 2), corrected, register(2, "other", enroll.Confirmed, ""),
			register(3, "old", enroll.Rejected, enroll.AlreadyRegistered), register(4, "new", enroll.Rejected, enroll.AlreadyRegistered)),
			"run go-1: ticket 3 is rejected (already_registered), but settling the line again makes it confirmed")
	})
	t.Run("does not settle beyond a hole", func(t *testing.T) {
		t.Parallel()
		requireFound(t, check(unlimited(5, 2), register(1, "a", enroll.Confirmed, ""), register(4, "b", enroll.Rejected, enroll.Full), register(5, "c", enroll.Confirmed, "")),
			"run go-1: tickets 2 to 3 are missing from the line, so the tickets after the hole cannot be settled again")
	})
	t.Run("counts seats that no ticket has", func(t *testing.T) {
		t.Parallel()
		r := unlimited(1, 3)
		requireFound(t, check(r, register(1, "a", enroll.Confirmed, "")), "run go-1: 2 people have a seat with a ticket that is not in the line")
	})
}

// record is a ledger without anything wrong but its trouble.
type record struct {
	trouble doctor.Trouble
	broken  error // of run b
}

func (r record) Slugs(context.Context) ([]string, error)                       { return []string{"a", "b"}, nil }
func (r record) Trouble(context.Context) (doctor.Trouble, error)               { return r.trouble, nil }
func (r record) Repair(context.Context, string) (d doctor.Repaired, err error) { return }
func (r record) CheckUp(_ context.Context, slug string) ([]doctor.Finding, error) {
	if slug == "b" {
		return nil, r.broken
	}
	return nil, nil
}

func TestVisit(t *testing.T) {
	t.Parallel()
	sound := doctor.Server{Fsync: true, FullPageWrites: true, SynchronousCommit: "on"}
	with := func(change func(*doctor.Server)) doctor.Trouble {
		s := sound
		change(&s)
		return doctor.Trouble{Server: s}
	}
	held := enroll.Holder{Run: "a", PID: 7, Application: "psql", State: "idle in transaction", Age: 61 * time.Second}
	brief, line, unseen := held, held, held
	brief.Age, line.Line = 4*time.Second, true
	unseen.State, unseen.Age = "", 0
	backlogs := []enroll.Backlog{{Run: "a", Age: 2 * time.Minute}}
	for name, c := range map[string]struct {
		trouble doctor.Trouble
		want    string
	}{
		"nothing":        {doctor.Trouble{Server: sound}, ""},
		"a held row":     {doctor.Trouble{Server: sound, Holders: []enroll.Holder{held}}, "run a: pid 7 (psql, idle in transaction) has held the run's row for up to 1m1s"},
		"a held line":    {doctor.Trouble{Server: sound, Holders: []enroll.Holder{line}}, "run a: pid 7 (psql, idle in transaction) has held the head of the line for up to 1m1s"},
		"a row at work":  {doctor.Trouble{Server: sound, Holders: []enroll.Holder{brief}}, ""},
		"an unseen hold": {doctor.Trouble{Server: sound, Holders: []enroll.Holder{unseen}}, ""},
		"a line behind": {doctor.Trouble{Server: sound, Holders: []enroll.Holder{unseen}, Backlogs: backlogs},
			"run a: its next request has waited for 2m0s: pid 7 holds the run's row (grant pg_read_all_stats to see more)"},
		"a forgotten two-phase commit": {doctor.Trouble{Server: sound, Holders: []enroll.Holder{{Run: "a"}}, Backlogs: backlogs},
			"run a: its next request has waited for 2m0s: a prepared transaction holds the run's row"},
		"a standby":          {with(func(s *doctor.Server) { s.Standbys = 1 }), "warning: asynchronous standbys: 1"},
		"a safe standby":     {with(func(s *doctor.Server) { s.Standbys, s.SyncStandbyNames = 1, "*" }), ""},
		"half a safe one":    {with(func(s *doctor.Server) { s.Standbys, s.SyncStandbyNames, s.SynchronousCommit = 1, "*", "local" }), "warning: asynchronous standbys: 1"},
		"perhaps one":        {with(func(s *doctor.Server) { s.Unseen = 1 }), "warning: receivers of the log: 1; grant pg_read_all_stats"},
		"no fsync":           {with(func(s *doctor.Server) { s.Fsync = false }), "warning: fsync is off"},
		"a read-only server": {with(func(s *doctor.Server) { s.ReadOnly = true }), "the server is read-only"},
		"a frozen lock session": {doctor.Trouble{Server: sound, SilentLanes: map[int]time.Duration{7: 9 * time.Second}},
			"the session with pid 7 holds lane locks but has said nothing for 9s"},
		"torn pages": {with(func(s *doctor.Server) { s.FullPageWrites = false }), "warning: full_page_writes is off"},
		"no waiting": {with(func(s *doctor.Server) { s.SynchronousCommit = "off" }), "warning: synchronous_commit is off"},
		"mails not posted": {doctor.Trouble{Server: sound, Mails: enroll.MailBacklog{Pending: 9, Overdue: 3, Untried: 1, Oldest: 2 * time.Hour}},
			"mails that have waited for more than an hour: 3, the oldest for 2h0m0s; of these without a single attempt: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := doctor.Visit(t.Context(), record{trouble: c.trouble}, doctor.Options{})
			if err != nil || report.Runs != 2 {
				t.Fatalf("got %+v, %v", report, err)
			}
			switch {
			case c.want == "" && len(report.Findings) == 0:
			case c.want != "" && len(report.Findings) == 1 && strings.HasPrefix(report.Findings[0].String(), c.want):
			default:
				t.Errorf("found %v, want %q", report.Findings, c.want)
			}
			if wrong, warnings := report.Wrong(); wrong+warnings != len(report.Findings) || (warnings > 0) != strings.HasPrefix(c.want, "warning") {
				t.Errorf("%d are wrong, %d are warnings", wrong, warnings)
			}
		})
	}
	t.Run("goes on after a run that takes too long", func(t *testing.T) {
		t.Parallel()
		report, err := doctor.Visit(t.Context(), record{broken: context.DeadlineExceeded}, doctor.Options{})
		if err != nil || report.Runs != 1 || len(report.Undone) != 1 {
			t.Errorf("got %+v, %v", report, err)
		}
	})
	t.Run("ends when a run cannot be read", func(t *testing.T) {
		t.Parallel()
		gone := errors.New("gone")
		report, err := doctor.Visit(t.Context(), record{broken: gone}, doctor.Options{})
		if !errors.Is(err, gone) || report.Runs != 1 {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}
