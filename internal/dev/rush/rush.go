// Package rush is `make rush`: many people ask for few seats at once, some of them
// cancel, and every outcome is checked afterwards.
//
//	rush.go    the command; race.go: one rush
//	result.go  what is printed
//	measure.go how long the rush took; cpu.go: CPU time
//	mail.go    waiting for the confirmations
//	metrics.go the worker's counters
package rush

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// Plan is what a rush is to be like.
type Plan struct {
	People   int
	Seats    int
	Waitlist *int    // places on the waiting list; nil = any number
	Cancel   float64 // the share of the people with a seat or a place who cancel
}

// plain reports whether the rush is about seats alone, which no person gives up.
func (p Plan) plain() bool { return p.Waitlist != nil && *p.Waitlist == 0 && p.Cancel == 0 }

// places says how long the waiting list is.
func (p Plan) places() string {
	if p.Waitlist == nil {
		return "any number of places"
	}
	return fmt.Sprintf("%d places", *p.Waitlist)
}

func (p Plan) String() string {
	text := fmt.Sprintf("%d people ask for %d seats at once, every tenth clicks twice", p.People, p.Seats)
	if !p.plain() {
		text += fmt.Sprintf("; %s on the waiting list; %g %% cancel", p.places(), 100*p.Cancel)
	}
	return text
}

// parse reads the arguments of `dev rush`.
func parse(args []string) (p Plan, asJSON bool, err error) {
	flags := flag.NewFlagSet("rush", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&p.People, "people", 500, "")
	flags.IntVar(&p.Seats, "seats", 20, "")
	flags.Float64Var(&p.Cancel, "cancel", 0, "")
	flags.BoolVar(&asJSON, "json", false, "")
	p.Waitlist = new(0)
	flags.Func("waitlist", "", func(text string) error {
		if text == "all" {
			p.Waitlist = nil
			return nil
		}
		n, err := strconv.ParseUint(text, 10, 31)
		p.Waitlist = new(int(n))
		return err
	})
	err = flags.Parse(args)
	if err == nil && (flags.NArg() > 0 || p.People < 1 || p.People > 1_000_000 || p.Seats < 0 || !(p.Cancel >= 0 && p.Cancel <= 1)) {
		err = errors.New("out of range")
	}
	return p, asJSON, err
}

// Quiet is the environment of programs during a rush: the log lines of thousands
// of requests would hide the one that matters.
var Quiet = []string{"LASTSEAT_LOG_LEVEL=warn"}

// Command is `dev rush`, on the stack that `make run` has running, or else on one
// of its own.
func Command(ctx context.Context, t *stack.Tool, args []string) error {
	plan, asJSON, err := parse(args)
	if err != nil {
		fmt.Fprintln(t.Stderr, "rush: PEOPLE (-people) must be 1 to 1000000, SEATS (-seats) 0 or more, "+
			"WAITLIST (-waitlist) 0 or more, or all, and CANCEL (-cancel) 0 to 1")
		return proc.ExitUsage
	}
	run := func(ctx context.Context, s *stack.Stack) error { return report(ctx, t, s, plan, asJSON) }
	s, err := stack.Running(t.Root, "run")
	switch {
	case err == nil:
		t.Log.Printf("using the stack that `make run` has running: %s", s.APIURL)
		return proc.OrInterrupted(ctx, run(ctx, s))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return proc.OrInterrupted(ctx, t.Run(ctx, stack.Options{Name: "rush", Scratch: true, Simulation: true, Env: Quiet}, run))
}

// report runs a rush on the stack and prints its result.
func report(ctx context.Context, t *stack.Tool, s *stack.Stack, plan Plan, asJSON bool) error {
	r, _, err := Race(ctx, t.Log, s, plan)
	if err != nil {
		return err
	}
	r.writeTable(t.Stdout)
	if asJSON {
		if err := json.NewEncoder(t.Stdout).Encode(r.numbers); err != nil {
			return err
		}
	}
	return r.Err()
}
