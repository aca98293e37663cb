package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// crowd makes submissions of all kinds for a run.
type crowd struct {
	*rand.Rand
	run   string
	last  int64 // the last ticket of the run, about
	final bool  // what ends a run may come, too
}

func (c *crowd) limit(most int) *enroll.Limit {
	if c.IntN(10) == 0 {
		return &enroll.Limit{}
	}
	n := c.IntN(most)
	return &enroll.Limit{Most: &n}
}

func (c *crowd) submission() enroll.Submission {
	switch n := c.IntN(100); {
	case n < 25 && c.last > 1:
		return enroll.NewCancel(c.run, 1+c.Int64N(c.last), c.IntN(2) == 0)
	case n < 32:
		change := enroll.Change{Capacity: c.limit(12)}
		if c.IntN(2) == 0 {
			change = enroll.Change{WaitlistCapacity: c.limit(12)}
		}
		sub, err := enroll.NewResize(c.run, change)
		if err != nil {
			panic(err)
		}
		return sub
	case n == 32 && c.final:
		return enroll.NewCloseWaitlist(c.run)
	case n == 33 && c.final:
		return enroll.NewCallOff(c.run)
	}
	sub := enrolltest.Person(c.run, c.IntN(60))
	if c.IntN(4) == 0 {
		limit := c.IntN(4)
		sub.WaitlistLimit = &limit
	}
	return sub
}

// ask accepts a random batch. Of what cannot be stored, such as cancelling
// what is no registration twice, nothing comes into the line.
func (c *crowd) ask(ctx context.Context, s *postgres.Store) error {
	var all []enroll.Submission
	keys := make(map[string]bool)
	for range 1 + c.IntN(25) {
		if sub := c.submission(); sub.IdempotencyKey == "" || !keys[sub.IdempotencyKey] {
			keys[sub.IdempotencyKey] = true
			all = append(all, sub)
		}
	}
	results, err := s.Accept(ctx, all)
	for _, result := range results {
		c.last = max(c.last, result.Receipt.Ticket)
	}
	return err
}

// correct corrects the address of somebody, who may have nothing to correct.
func (c *crowd) correct(ctx context.Context, s *postgres.Store) error {
	address, err := enroll.ParseAddress(fmt.Sprintf("p%d@example.org", c.IntN(70)))
	if err != nil {
		return err
	}
	err = s.CorrectPerson(ctx, access.Operator, c.run, 1+c.Int64N(c.last+1), "Another", address)
	if slices.Contains([]enroll.Code{enroll.NotFound, enroll.NotHeld, enroll.Conflict, enroll.CancelWaits}, enroll.CodeOf(err)) {
		return nil
	}
	return err
}

// BenchmarkCheckUp checks a line of 200 000 requests, of whom 50 000 have a seat
// and 50 000 wait.
func BenchmarkCheckUp(b *testing.B) {
	url := pgtest.URL(b)
	s := pgtest.Open(b, url)
	now := time.Now()
	id := enrolltest.CreateRun(b, s, enroll.Run{
		Slug: "a", Capacity: enrolltest.Seats(50_000), WaitlistCapacity: enrolltest.Seats(50_000), OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(time.Hour),
	})
	for n := range 400 {
		var all []enroll.Submission
		for i := range 500 {
			all = append(all, enrolltest.Person("a", n*500+i))
		}
		if _, err := s.Accept(context.Background(), all); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Settle(context.Background(), []enroll.RunID{id}, enrolltest.SettleLimits(1000)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if found, err := s.CheckUp(context.Background(), "a"); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-of-the-process")
}
