package lane_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestEverythingAtOnce: many clients ask for all kinds of things about some runs
// at once, two workers settle them, and afterwards every rule holds and every
// line reads as if one clerk had served it.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const runs, clients, wishes = 3, 8, 60
	for r := range runs {
		slug := fmt.Sprintf("run-%d", r)
		enrolltest.CreateRun(t, p.store, enroll.Run{
			Slug: slug, Capacity: enrolltest.Seats(10), WaitlistCapacity: enrolltest.Seats(15),
			OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour),
		})
	}
	workers := []*worker{p.worker(p.store, nil), p.worker(p.store, nil)}
	var wg sync.WaitGroup
	for c := range clients {
		seed := rand.NewPCG(1, uint64(c))
		wg.Go(func() {
			random := rand.New(seed)
			tickets := make(map[string][]int64) // of registrations that this client knows
			for range wishes {
				slug := fmt.Sprintf("run-%d", random.IntN(runs))
				a := something(random, slug, tickets[slug])
				verdicts, err := p.store.Accept(context.Background(), []enroll.Submission{a})
				if err != nil {
					t.Error(err)
					return
				}
				v := verdicts[0]
				if enroll.CodeOf(v.Err) == enroll.CodeCalledOff {
					continue
				}
				if v.Err != nil {
					t.Error(v.Err)
					return
				}
				if a.Kind == enroll.Register {
					tickets[slug] = append(tickets[slug], v.Receipt.Ticket)
				}
				if !v.Receipt.Again {
					p.sender.Notify(enroll.Bundle{RunID: v.Receipt.RunID, Run: slug, First: v.Receipt.Ticket, Last: v.Receipt.Ticket})
				}
			}
		})
	}
	wg.Wait()
	p.waitUntilDrained()
	for _, w := range workers {
		w.stop()
	}
	pgtest.RequireSound(t, p.url)
	kinds := pgtest.Query[string](t, p.url, `SELECT DISTINCT kind || ' ' || status FROM requests ORDER BY 1`)
	for _, want := range []string{"register confirmed", "register waitlisted", "register rejected", "register cancelled", "cancel done", "resize done"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("nobody's request was %s: there are %v", want, kinds)
		}
	}
}

// something is what somebody could ask for next.
func something(random *rand.Rand, run string, known []int64) enroll.Submission {
	switch n := random.IntN(100); {
	case n < 30 && len(known) > 0:
		return enroll.NewCancel(run, known[random.IntN(len(known))], n < 5)
	case n < 36:
		limit := func() *enroll.Limit { return &enroll.Limit{Most: enrolltest.Seats(random.IntN(25))} }
		a, err := enroll.NewResize(run, enroll.Change{Capacity: limit(), WaitlistCapacity: limit()})
		if err != nil {
			panic(err) // within the bounds
		}
		return a
	case n < 37 && run == "run-1":
		return enroll.NewCloseWaitlist(run)
	case n < 38 && run == "run-2":
		return enroll.NewCallOff(run)
	default:
		return enrolltest.Person(run, random.IntN(60))
	}
}
