package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/lastseat/lastseat/bench"
)

// What `dev oversell` lets happen.
const (
	oversellPeople = 2000
	oversellSeats  = 500
	oversellConns  = 50
)

// oversell is `dev oversell`: the usual answers to the question of the last seat
// and then Lastseat itself, in front of the same crowd. docs/why.md tells the
// story.
func (t *tool) oversell(ctx context.Context, args []string) error {
	if len(args) > 0 {
		fmt.Fprintf(t.stderr, "dev oversell takes no arguments\n\n%s", usage)
		return exitUsage
	}
	quiet := []string{"LASTSEAT_LOG_LEVEL=warn"}
	return orInterrupted(ctx, t.withStack(ctx, stackOptions{name: "oversell", scratch: true, env: quiet}, func(ctx context.Context, s *stack) error {
		var results []bench.Result
		t.log.printf("%d people ask for %d seats, %d at once", oversellPeople, oversellSeats, oversellConns)
		err := bench.Demonstrate(ctx, s.PostgresURL, oversellPeople, oversellSeats, oversellConns, func(r bench.Result) {
			t.log.printf("%s: %d seats given", r.Name, r.Seated)
			results = append(results, r)
		})
		if err != nil {
			return err
		}
		r, clicks, err := t.race(ctx, s, rushPlan{people: oversellPeople, seats: oversellSeats, waitlist: new(0)})
		if err != nil {
			return err
		}
		results = append(results, asBenchResult(r, clicks))
		fmt.Fprintln(t.stdout)
		if err := bench.WriteTable(t.stdout, results); err != nil {
			return err
		}
		fmt.Fprintf(t.stdout, `
The others are called in-process and keep nothing of a refusal. Lastseat is asked
over HTTP on %d connections, every tenth person twice, and records every request
and its outcome; its time ends with the last decision. Overtaken: refused although
somebody got a seat who sent the question later.

`, askers)
		return r.err()
	}))
}

// asBenchResult measures a rush by what the others are measured by.
func asBenchResult(r result, clicks []*click) bench.Result {
	b := bench.Result{
		Name: "Lastseat", People: r.People, Seats: r.Seats, Seated: r.Confirmed, Oversold: r.Oversold, Took: r.took,
	}
	// Sent later and seated, from the last to the first.
	byTime := slices.Clone(clicks)
	slices.SortFunc(byTime, func(a, b *click) int { return b.sent.Compare(a.sent) })
	seatedLater := 0
	for _, c := range byTime {
		switch {
		case c.Status == "confirmed":
			seatedLater++
		case c.Reason.Code == "full" && seatedLater > 0:
			b.Overtaken++
			b.PassedBy = max(b.PassedBy, seatedLater)
		}
	}
	return b
}
