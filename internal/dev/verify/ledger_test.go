package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// testLine is a line that a test writes through the store.
type testLine struct {
	t     testing.TB
	url   string
	store *postgres.Store
	id    enroll.RunID
	slug  string
	run   Run
}

func newTestLine(t testing.TB, url string, store *postgres.Store, slug string, run Run) *testLine {
	t.Helper()
	now := time.Now()
	err := store.CreateCourse(t.Context(), enroll.Course{Slug: "rush", Title: "Rush"})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		t.Fatal(err)
	}
	id, err := store.CreateRun(t.Context(), enroll.Run{
		Course: "rush", Slug: slug, TimeZone: "UTC", Capacity: &run.Seats, WaitlistCapacity: run.Places,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), StartsAt: now.Add(2 * time.Hour), EndsAt: now.Add(3 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &testLine{t, url, store, id, slug, run}
}

// begin makes the run one that has begun.
func (l *testLine) begin() {
	l.t.Helper()
	pgtest.Exec(l.t, l.url, `UPDATE runs SET starts_at = now() - interval '1 minute' WHERE id = $1`, l.id)
}

func (l *testLine) accept(all ...enroll.Submission) []int64 {
	l.t.Helper()
	verdicts, err := l.store.Accept(l.t.Context(), all)
	if err != nil {
		l.t.Fatal(err)
	}
	var tickets []int64
	for _, v := range verdicts {
		if v.Err != nil {
			l.t.Fatal(v.Err)
		}
		tickets = append(tickets, v.Receipt.Ticket)
	}
	return tickets
}

func (l *testLine) settle(budget int) {
	l.t.Helper()
	for more := true; more; {
		progress, err := l.store.Settle(l.t.Context(), []enroll.RunID{l.id}, enrolltest.SettleLimits(budget))
		if err != nil {
			l.t.Fatal(err)
		}
		more = progress[l.id].More
	}
}

func (l *testLine) person(n int) enroll.Submission { return enrolltest.Person(l.slug, n) }

func (l *testLine) cancel(ticket int64) enroll.Submission {
	return enroll.NewCancel(l.slug, ticket, false)
}

func (l *testLine) read() Ledger {
	l.t.Helper()
	written, err := ReadLedger(l.t.Context(), l.url, l.slug)
	if err != nil {
		l.t.Fatal(err)
	}
	return written
}

// TestLineAgreesWithTheStore judges random lines that were settled as they
// belong.
func TestLineAgreesWithTheStore(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	store := pgtest.Open(t, url)
	var mu sync.Mutex
	all := Result{Rejected: make(map[string]int)}
	late := 0
	const groups, lines = 6, 300
	t.Run("in groups", func(t *testing.T) {
		for g := range groups {
			t.Run(strconv.Itoa(g), func(t *testing.T) {
				t.Parallel()
				for n := g; n < lines; n += groups {
					line := randomLine(t, url, store, n)
					written := line.read()
					r := Line(line.run, written)
					if len(r.Findings) > 0 || r.Oversold+r.OutOfOrder+r.DuplicatesSeated+r.PromotedOutOfOrder+r.MailsMissing+r.Undecided > 0 {
						t.Errorf("line %d: %q\n%+v", n, r.Findings, r)
					}
					mu.Lock()
					all.Confirmed += r.Confirmed
					all.Waitlisted += r.Waitlisted
					all.Cancelled += r.Cancelled
					all.Promoted += r.Promoted
					for reason, count := range r.Rejected {
						all.Rejected[reason] += count
					}
					for _, e := range written.Line {
						if e.Late {
							late++
						}
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%+v, %d cancelled late", all, late)
	if all.Confirmed*all.Waitlisted*all.Cancelled*all.Promoted*late == 0 || len(all.Rejected) != 3 {
		t.Error("the lines have not seen everything")
	}
}

// randomLine makes a small line in which everything happens, settled in pieces
// of any size.
func randomLine(t testing.TB, url string, store *postgres.Store, n int) *testLine {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	run := Run{Seats: random.IntN(5), Places: new(random.IntN(5))}
	if random.IntN(4) == 0 {
		run.Places = nil
	}
	line := newTestLine(t, url, store, fmt.Sprintf("line-%d", n), run)
	var registrations []int64
	rounds, people := 3+random.IntN(8), 2+random.IntN(12)
	for round := range rounds {
		if round == rounds-2 && random.IntN(3) == 0 {
			line.begin()
		}
		var asked []enroll.Submission
		cancelled := make(map[int64]bool) // the store takes a key once in a call
		for range 1 + random.IntN(6) {
			if len(registrations) > 0 && random.IntN(5) < 2 {
				target := registrations[random.IntN(len(registrations))]
				if !cancelled[target] {
					// Only an organiser may when the run has begun.
					asked = append(asked, enroll.NewCancel(line.slug, target, round >= rounds-2 || random.IntN(4) == 0))
				}
				cancelled[target] = true
				continue
			}
			a := line.person(random.IntN(people))
			if random.IntN(3) == 0 {
				a.WaitlistLimit = new(random.IntN(3))
			}
			asked = append(asked, a)
		}
		for i, ticket := range line.accept(asked...) {
			if asked[i].Kind == enroll.Register {
				registrations = append(registrations, ticket)
			}
		}
		if random.IntN(3) > 0 {
			line.settle(1 + random.IntN(8))
		}
	}
	line.settle(1 + random.IntN(8))
	return line
}

func (l Ledger) clone() Ledger {
	l.Line, l.Mails = slices.Clone(l.Line), slices.Clone(l.Mails)
	l.Seated, l.Waiting = slices.Clone(l.Seated), slices.Clone(l.Waiting)
	return l
}

func (l *Ledger) at(ticket int64) *Entry { return &l.Line[ticket-1] }

func (l *Ledger) mail(ticket int64, kind enroll.MailKind) *MailRow {
	i := slices.IndexFunc(l.Mails, func(m MailRow) bool { return m.Ticket == ticket && m.Kind == kind })
	return &l.Mails[i]
}

func (l *Ledger) unmail(ticket int64, kind enroll.MailKind) {
	l.Mails = slices.DeleteFunc(l.Mails, func(m MailRow) bool { return m.Ticket == ticket && m.Kind == kind })
}

// move gives the row on the waiting list a seat, as the counters say then, too.
func (l *Ledger) move(ticket int64) {
	l.Waiting = slices.DeleteFunc(l.Waiting, func(h Holding) bool { return h.Ticket == ticket })
	l.Seated = append(l.Seated, Holding{ticket, l.at(ticket).Key})
	l.SeatsCounted, l.PlacesCounted = len(l.Seated), len(l.Waiting)
}
