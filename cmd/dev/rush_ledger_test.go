package main

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
	plan  rushPlan
}

func newTestLine(t testing.TB, url string, store *postgres.Store, slug string, plan rushPlan) *testLine {
	t.Helper()
	now := time.Now()
	err := store.CreateCourse(t.Context(), enroll.Course{Slug: "rush", Title: "Rush"})
	if err != nil && enroll.CodeOf(err) != enroll.Conflict {
		t.Fatal(err)
	}
	id, err := store.CreateRun(t.Context(), enroll.Run{
		Course: "rush", Slug: slug, TimeZone: "UTC", Capacity: &plan.seats, WaitlistCapacity: plan.waitlist,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), StartsAt: now.Add(2 * time.Hour), EndsAt: now.Add(3 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &testLine{t, url, store, id, slug, plan}
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

func (l *testLine) read() ledger {
	l.t.Helper()
	written, err := readLedger(l.t.Context(), l.url, l.slug)
	if err != nil {
		l.t.Fatal(err)
	}
	return written
}

// judgeAlone judges a line of which nobody was told anything.
func judgeAlone(plan rushPlan, l ledger) result {
	r := result{rushJSON: rushJSON{Rejected: make(map[string]int)}, plan: plan}
	r.judgeLine(l)
	return r
}

// TestVerdictAgreesWithTheStore judges random lines that were settled as they
// belong.
func TestVerdictAgreesWithTheStore(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	store := pgtest.Open(t, url)
	var mu sync.Mutex
	var all rushJSON
	all.Rejected = make(map[string]int)
	late := 0
	const groups, lines = 6, 300
	t.Run("in groups", func(t *testing.T) {
		for g := range groups {
			t.Run(strconv.Itoa(g), func(t *testing.T) {
				t.Parallel()
				for n := g; n < lines; n += groups {
					line := randomLine(t, url, store, n)
					written := line.read()
					r := judgeAlone(line.plan, written)
					if len(r.wrong) > 0 || r.Oversold+r.OutOfOrder+r.DuplicatesSeated+r.PromotedOutOfOrder+r.MailsMissing+r.Undecided > 0 {
						t.Errorf("line %d: %q\n%+v", n, r.wrong, r.rushJSON)
					}
					mu.Lock()
					all.Confirmed += r.Confirmed
					all.Waitlisted += r.Waitlisted
					all.Cancelled += r.Cancelled
					all.Promoted += r.Promoted
					for reason, count := range r.Rejected {
						all.Rejected[reason] += count
					}
					for _, e := range written.line {
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
	plan := rushPlan{seats: random.IntN(5), waitlist: new(random.IntN(5))}
	if random.IntN(4) == 0 {
		plan.waitlist = nil
	}
	line := newTestLine(t, url, store, fmt.Sprintf("line-%d", n), plan)
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

func (l ledger) clone() ledger {
	l.line, l.mails = slices.Clone(l.line), slices.Clone(l.mails)
	l.seated, l.waiting = slices.Clone(l.seated), slices.Clone(l.waiting)
	return l
}

func (l *ledger) at(ticket int64) *entry { return &l.line[ticket-1] }

func (l *ledger) mail(ticket int64, kind enroll.MailKind) *mailRow {
	i := slices.IndexFunc(l.mails, func(m mailRow) bool { return m.Ticket == ticket && m.Kind == kind })
	return &l.mails[i]
}

func (l *ledger) unmail(ticket int64, kind enroll.MailKind) {
	l.mails = slices.DeleteFunc(l.mails, func(m mailRow) bool { return m.Ticket == ticket && m.Kind == kind })
}

// move gives the row on the waiting list a seat, as the counters say then, too.
func (l *ledger) move(ticket int64) {
	l.waiting = slices.DeleteFunc(l.waiting, func(h holding) bool { return h.Ticket == ticket })
	l.seated = append(l.seated, holding{ticket, l.at(ticket).Key})
	l.seatsCounted, l.placesCounted = len(l.seated), len(l.waiting)
}
