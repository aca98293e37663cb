package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// rightLine is a line in which everything happens once, each round of it settled
// in a transaction of its own.
func rightLine(t *testing.T) (Run, Ledger) {
	url := pgtest.URL(t)
	line := newTestLine(t, url, pgtest.Open(t, url), "right", Run{Seats: 2, Places: new(2)})
	p := line.person
	for _, round := range [][]enroll.Submission{
		{p(0), p(1), p(2), p(3), p(4), p(0)}, // 1 and 2 seated, 3 and 4 wait, 5 and 6 are refused
		{line.cancel(1)},                     // 7: 3 is promoted
		{p(5), line.cancel(4)},               // 8 waits; 9
		{line.cancel(5)},                     // 10: has nothing to cancel
		{line.cancel(2), p(6), p(7)},         // 11: 8 is promoted; 12 and 13 wait
		{line.cancel(3), p(8)},               // 14: 12 is promoted; 15 waits
	} {
		line.accept(round...)
		line.settle(100)
	}
	return line.run, line.read()
}

func TestLineFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	run, right := rightLine(t)
	if r := Line(run, right); len(r.Findings) > 0 || r.Promoted != 3 || r.Cancelled != 4 {
		t.Fatalf("the right line: %q\n%+v", r.Findings, r)
	}
	for _, test := range []struct {
		name   string
		doctor func(l *Ledger)
		want   string
		number func(r *Result) int // must be 1, if there is one
	}{
		{
			"a hole", func(l *Ledger) { l.Line = slices.Delete(l.Line, 4, 5) },
			"ticket 6 stands where 5 belongs", nil,
		}, {
			"undecided", func(l *Ledger) { l.at(15).Status, l.at(15).DecidedAt = enroll.Queued, nil },
			"1 requests undecided", func(r *Result) int { return r.Undecided },
		}, {
			"a seat too many", func(l *Ledger) {
				l.at(13).Status = enroll.Confirmed
				l.mail(13, enroll.MailWaitlisted).Kind = enroll.MailConfirmed
				l.move(13)
			},
			"ticket 13 is confirmed, and by the rules it is waitlisted", func(r *Result) int { return r.Oversold },
		}, {
			"a mail about a seat instead of a place", func(l *Ledger) { l.mail(4, enroll.MailWaitlisted).Kind = enroll.MailConfirmed },
			`ticket 4: a mail "confirmed" was written that nothing calls for`, func(r *Result) int { return r.MailsMissing },
		}, {
			"promoted without a seat that became free", func(l *Ledger) {
				l.at(13).Status, l.at(13).ChangedAt = enroll.Confirmed, l.at(14).DecidedAt
				l.Mails = append(l.Mails, MailRow{13, enroll.MailPromoted})
				l.move(13)
			},
			"1 seats given that were not there", func(r *Result) int { return r.Oversold },
		}, {
			"refused with a seat free", func(l *Ledger) {
				l.at(2).Status, l.at(2).Reason = enroll.Rejected, enroll.Full
				l.Mails = slices.DeleteFunc(l.Mails, func(m MailRow) bool { return m.Ticket == 2 })
			},
			"ticket 2 is rejected (full), and by the rules it is cancelled", nil,
		}, {
			"a later one seated instead", func(l *Ledger) {
				l.at(5).Status, l.at(5).Reason = enroll.Confirmed, ""
				l.at(2).Status, l.at(2).Reason = enroll.Rejected, enroll.Full
				l.Mails = slices.DeleteFunc(l.Mails, func(m MailRow) bool { return m.Ticket == 2 })
				l.Mails = append(l.Mails, MailRow{5, enroll.MailConfirmed})
				l.move(5)
			},
			"1 seats that belong to other people", func(r *Result) int { return r.OutOfOrder },
		}, {
			"seated while others wait", func(l *Ledger) {
				l.at(5).Status, l.at(5).Reason = enroll.Confirmed, ""
				l.Mails = append(l.Mails, MailRow{5, enroll.MailConfirmed})
				l.move(5)
			},
			"ticket 5 is confirmed, and by the rules it is rejected (full)", func(r *Result) int { return r.OutOfOrder },
		}, {
			"the wrong one promoted", func(l *Ledger) {
				l.at(12).Status, l.at(13).Status = enroll.Waitlisted, enroll.Confirmed
				l.at(13).ChangedAt = l.at(12).ChangedAt
				l.mail(12, enroll.MailPromoted).Ticket = 13
				l.move(13)
				l.Seated = slices.DeleteFunc(l.Seated, func(h Holding) bool { return h.Ticket == 12 })
				l.Waiting = slices.Insert(l.Waiting, 0, Holding{12, l.at(12).Key})
			},
			"1 people promoted who were not the first on the list", func(r *Result) int { return r.PromotedOutOfOrder },
		}, {
			"the wrong person promoted, and cancelled since", func(l *Ledger) { l.mail(3, enroll.MailPromoted).Ticket = 4 },
			"1 people promoted who were not the first on the list", func(r *Result) int { return r.PromotedOutOfOrder },
		}, {
			"nobody promoted", func(l *Ledger) {
				l.at(12).Status, l.at(12).ChangedAt = enroll.Waitlisted, nil
				l.Mails = slices.DeleteFunc(l.Mails, func(m MailRow) bool { return m.Ticket == 12 && m.Kind == enroll.MailPromoted })
				l.Seated = slices.DeleteFunc(l.Seated, func(h Holding) bool { return h.Ticket == 12 })
				l.Waiting = slices.Insert(l.Waiting, 0, Holding{12, l.at(12).Key})
			},
			"1 seats were given, 2 belong", func(r *Result) int { return r.MailsMissing },
		}, {
			"promoted by a late request", func(l *Ledger) { l.at(14).Late = true },
			"ticket 12 is confirmed, and by the rules it is waitlisted", nil,
		}, {
			"refused with room on the list", func(l *Ledger) { l.at(4).Status, l.at(4).Reason = enroll.Rejected, enroll.Full },
			"ticket 4 is rejected (full), and by the rules it is cancelled", nil,
		}, {
			"further on the list than wanted", func(l *Ledger) { l.at(4).WaitlistLimit = new(1) },
			"ticket 4 is cancelled, and by the rules it is rejected (waitlist_too_long)", nil,
		}, {
			"another reason", func(l *Ledger) { l.at(6).Reason = enroll.Full },
			"ticket 6 is rejected (full), and by the rules it is rejected (already_registered)", nil,
		}, {
			"two seats", func(l *Ledger) {
				l.at(12).Key, l.Seated[1].Key = l.at(8).Key, l.at(8).Key
			},
			"1 second seats or places for one person", func(r *Result) int { return r.DuplicatesSeated },
		}, {
			"a cancellation without effect", func(l *Ledger) { l.at(11).Reason = enroll.NoEffect },
			"ticket 11 is done (no_effect), and by the rules it is done", nil,
		}, {
			"a cancellation that took nothing", func(l *Ledger) { l.at(10).Reason = "" },
			"ticket 10 is done, and by the rules it is done (no_effect)", nil,
		}, {
			"given up twice", func(l *Ledger) { l.at(10).Target, l.at(10).Reason = 4, "" },
			"ticket 10 is done, and by the rules it is done (no_effect)", nil,
		}, {
			"a seat kept", func(l *Ledger) { l.at(2).Status = enroll.Confirmed },
			"3 seats were given, 2 belong", nil,
		}, {
			"a request that nobody makes", func(l *Ledger) { l.at(15).Kind = enroll.CloseWaitlist },
			"ticket 15 is a close_waitlist, which nobody asked for", nil,
		}, {
			"a row too few", func(l *Ledger) { l.Seated = l.Seated[1:] },
			"attendances: 1 rows, and by the rules 2", nil,
		}, {
			"a row too many", func(l *Ledger) { l.Waiting = append(l.Waiting, Holding{5, l.at(5).Key}) },
			"the waiting list: 3 rows, and by the rules 2", nil,
		}, {
			"the row of another person", func(l *Ledger) { l.Seated[0].Key = l.at(1).Key },
			"row 1 is the first that is wrong", nil,
		}, {
			"a wrong count of seats", func(l *Ledger) { l.SeatsCounted++ },
			"attendances: the run says that there are 3, and there are 2", nil,
		}, {
			"a wrong count of places", func(l *Ledger) { l.PlacesCounted-- },
			"the waiting list: the run says that there are 1, and there are 2", nil,
		}, {
			"no mail about a seat", func(l *Ledger) { l.unmail(1, enroll.MailConfirmed) },
			`ticket 1: no mail "confirmed" was written`, func(r *Result) int { return r.MailsMissing },
		}, {
			"no mail about a place", func(l *Ledger) { l.unmail(15, enroll.MailWaitlisted) },
			`ticket 15: no mail "waitlisted" was written`, func(r *Result) int { return r.MailsMissing },
		}, {
			"no mail about a promotion", func(l *Ledger) { l.unmail(12, enroll.MailPromoted) },
			`ticket 12: no mail "promoted" was written`, func(r *Result) int { return r.MailsMissing },
		}, {
			"no mail about a cancellation", func(l *Ledger) { l.unmail(4, enroll.MailCancelled) },
			`ticket 4: no mail "cancelled" was written`, func(r *Result) int { return r.MailsMissing },
		}, {
			"a mail too many", func(l *Ledger) { l.Mails = append(l.Mails, MailRow{5, enroll.MailCancelled}) },
			`ticket 5: a mail "cancelled" was written that nothing calls for`, nil,
		}, {
			"a mail twice", func(l *Ledger) { l.Mails = append(l.Mails, l.Mails[0]) },
			`was written that nothing calls for`, nil,
		}, {
			"accepted before the one before", func(l *Ledger) { l.at(7).AcceptedAt = l.at(6).AcceptedAt.Add(-time.Second) },
			"ticket 7 was accepted before the one before it", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			doctored := right.clone()
			test.doctor(&doctored)
			r := Line(run, doctored)
			if !strings.Contains(strings.Join(r.Findings, "\n"), test.want) {
				t.Errorf("no %q in:\n%s", test.want, strings.Join(r.Findings, "\n"))
			}
			if test.number != nil && test.number(r) != 1 {
				t.Errorf("it is not counted once: %+v", r)
			}
		})
	}
}

// TestLineCountsSeatsOfOthers judges lines of a run with one seat and no waiting
// list: s and f are people who get the seat or are refused, and c cancels the first
// registration.
func TestLineCountsSeatsOfOthers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line                 string
		outOfOrder, oversold int
	}{
		{line: "sfff"},
		{line: "fs", outOfOrder: 1},
		{line: "ffs", outOfOrder: 1},
		{line: "sfs", outOfOrder: 1, oversold: 1},
		{line: "sfcs"},
		{line: "sfcss", outOfOrder: 1, oversold: 1},
		{line: "sfcfs", outOfOrder: 1},
	} {
		var l Ledger
		now := time.Now()
		for i, what := range test.line {
			ticket := int64(i + 1)
			e := Entry{Ticket: ticket, Kind: enroll.Register, Key: fmt.Sprint(i), Status: enroll.Confirmed, AcceptedAt: now, DecidedAt: &now}
			switch what {
			case 's':
				l.Seated = append(l.Seated, Holding{ticket, e.Key})
				l.Mails = append(l.Mails, MailRow{ticket, enroll.MailConfirmed})
			case 'f':
				e.Status, e.Reason = enroll.Rejected, enroll.Full
			case 'c':
				e = Entry{Ticket: ticket, Kind: enroll.Cancel, Target: 1, Status: enroll.Done, AcceptedAt: now, DecidedAt: &now}
				l.at(1).Status = enroll.Cancelled
				l.Seated = l.Seated[1:]
				l.Mails = append(l.Mails, MailRow{1, enroll.MailCancelled})
			}
			l.Line = append(l.Line, e)
		}
		r := Line(Run{Seats: 1, Places: new(0)}, l)
		if r.OutOfOrder != test.outOfOrder || r.Oversold != test.oversold || r.DuplicatesSeated != 0 {
			t.Errorf("%s: %d out of order, %d oversold; want %d and %d", test.line, r.OutOfOrder, r.Oversold, test.outOfOrder, test.oversold)
		}
	}
}
