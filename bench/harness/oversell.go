package harness

import (
	"context"
	"fmt"
	"slices"

	"github.com/lastseat/lastseat/bench/oversell"
	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/rush"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// What `bench oversell` lets happen.
const (
	oversellPeople      = 2000
	oversellSeats       = 500
	oversellConnections = 50
)

// Oversell is `bench oversell`: the usual answers to the question of the last seat,
// and then Lastseat itself, asked by as many people. docs/why.md tells the story.
func Oversell(ctx context.Context, t *stack.Tool, args []string) error {
	if len(args) > 0 {
		fmt.Fprintln(t.Stderr, "bench oversell takes no arguments")
		return proc.ExitUsage
	}
	o := stack.Options{Name: "oversell", Scratch: true, Env: rush.Quiet}
	return proc.OrInterrupted(ctx, t.Run(ctx, o, func(ctx context.Context, s *stack.Stack) error { return demonstrate(ctx, t, s) }))
}

// demonstrate prints the results of all answers and of Lastseat on the stack.
func demonstrate(ctx context.Context, t *stack.Tool, s *stack.Stack) error {
	var results []oversell.Result
	t.Log.Printf("%d people ask for %d seats, %d at once", oversellPeople, oversellSeats, oversellConnections)
	err := oversell.Demonstrate(ctx, s.PostgresURL, oversellPeople, oversellSeats, oversellConnections, func(r oversell.Result) {
		t.Log.Printf("%s: %d seats given", r.Name, r.Seated)
		results = append(results, r)
	})
	if err != nil {
		return err
	}
	r, submissions, err := rush.Race(ctx, t.Log, s, rush.Plan{People: oversellPeople, Seats: oversellSeats, Waitlist: new(0)})
	if err != nil {
		return err
	}
	results = append(results, oversellResult(r, submissions))
	fmt.Fprintln(t.Stdout)
	if err := oversell.WriteTable(t.Stdout, results); err != nil {
		return err
	}
	fmt.Fprintf(t.Stdout, `
The others are called in-process and keep nothing of a refusal. Lastseat is asked
over HTTP on %d connections, every tenth person twice, and records every request
and its outcome; its time ends with the last decision. Overtaken: refused although
a person who asked later got a seat.

`, clients.RushConnections)
	return r.Err()
}

// oversellResult measures a rush as the other answers are measured.
func oversellResult(r *rush.Result, submissions []*clients.Submission) oversell.Result {
	o := oversell.Result{
		Name: "Lastseat", People: r.People, Seats: r.Seats, Seated: r.Confirmed, Oversold: r.Oversold, Took: r.Took,
	}
	// From the last that was sent to the first.
	byTime := slices.SortedFunc(slices.Values(submissions), func(a, b *clients.Submission) int { return b.Sent.Compare(a.Sent) })
	seatedLater := 0
	for _, s := range byTime {
		switch {
		case s.Status == "confirmed":
			seatedLater++
		case s.Reason.Code == "full" && seatedLater > 0:
			o.Overtaken++
			o.PassedBy = max(o.PassedBy, seatedLater)
		}
	}
	return o
}
