// Package harness is `make bench`, `make bench-against` and `make oversell`: it
// measures Lastseat beside the other answers (bench/rivals), beside another commit,
// and shows what the other answers do. It starts the processes; bench/load sends
// the requests and bench/report prints the numbers. docs/performance.md explains
// the method and has results.
//
//	bench.go      the command bench; cases.go: what is measured
//	testbed.go    what all contenders run on: services, databases, programs
//	lastseat.go   Lastseat as a contender; rival.go: the others
//	trial.go      one contender, measured once; workload.go: with what requests
//	rush.go, latency.go, pollers.go, grown.go, idle.go: kinds of cases
//	against.go    the command against; build.go: building another commit
//	oversell.go   the command oversell
package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// plan is what is to be measured.
type plan struct {
	cases  []string // their ids; empty = all
	rivals []string // their names, also the ceiling's; empty = all
	rounds int
	quick  bool // a smoke run: everything once, with few people
	json   bool
}

// parse reads the arguments of `bench measure`.
func parse(args []string) (p plan, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("cases", "", proc.ListOf("case", caseIDs(), &p.cases))
	flags.Func("rivals", "", proc.ListOf("rival", append(rivalNames(), noRivals), &p.rivals))
	flags.IntVar(&p.rounds, "rounds", 0, "")
	flags.BoolVar(&p.quick, "quick", false, "")
	flags.BoolVar(&p.json, "json", false, "")
	if err = flags.Parse(args); err != nil {
		return p, err
	}
	if slices.Contains(p.rivals, noRivals) && len(p.rivals) > 1 {
		return p, fmt.Errorf("%s stands alone", noRivals)
	}
	if flags.NArg() > 0 || p.rounds < 0 || p.rounds > 99 {
		return p, errors.New("ROUNDS (-rounds) must be 1 to 99")
	}
	if p.rounds == 0 {
		p.rounds = 3
		if p.quick {
			p.rounds = 1
		}
	}
	return p, nil
}

// noRivals stands for no rival at all: it measures Lastseat alone.
const noRivals = "none"

func caseIDs() (ids []string) {
	for _, c := range benchCases {
		ids = append(ids, c.id)
	}
	return ids
}

func rivalNames() (names []string) {
	for _, c := range rivals.All {
		names = append(names, c.Name)
	}
	return names
}

// includes reports whether the contender is to be measured in the case.
func (p plan) includes(c rivals.Contender, b benchCase) bool {
	if len(p.rivals) > 0 {
		return slices.Contains(p.rivals, c.Name)
	}
	return !p.quick || b.complete || slices.Contains(quickRivals, c.Name)
}

// quickRivals are measured in every case of a smoke run.
var quickRivals = []string{"guarded", "guarded_recording"}

// Measure is `bench measure`: Lastseat, the other answers and the ceiling, each in
// processes of its own on the same services, one after the other, with the same
// requests.
func Measure(ctx context.Context, t *stack.Tool, args []string) error {
	p, err := parse(args)
	if err != nil {
		fmt.Fprintf(t.Stderr, "bench: %v; CASES (-cases) are some of %s; RIVALS (-rivals) are %s, or some of %s\n",
			err, strings.Join(caseIDs(), ","), noRivals, strings.Join(rivalNames(), ","))
		return proc.ExitUsage
	}
	return proc.OrInterrupted(ctx, withTestbed(ctx, t, func(ctx context.Context, b *testbed) error {
		began := time.Now()
		r, err := b.measureAll(ctx, p)
		if err != nil {
			return err
		}
		if err := r.WriteTables(t.Stdout); err != nil {
			return err
		}
		explain(t.Stdout, p, time.Since(began))
		if p.json {
			return r.WriteJSON(t.Stdout)
		}
		return nil
	}, "./bench/cmd/rival"))
}

// explain describes the contenders and the words of the tables.
func explain(w io.Writer, p plan, took time.Duration) {
	fmt.Fprintln(w)
	for _, c := range rivals.All {
		if !c.Recording || c.Async { // the other variants do the same, and record
			fmt.Fprintf(w, "%s: %s\n", c.Name, c.What)
		}
	}
	fmt.Fprintf(w, "…_recording: the same, and records each request with its outcome, as Lastseat does.\n\n%s\n", rivals.Promises)
	fmt.Fprintf(w, "\nMedians of %d rounds, everything on this machine, in %s. docs/performance.md says how it is measured.\n",
		p.rounds, took.Round(time.Second))
}

// measureAll measures the cases of the plan.
func (b *testbed) measureAll(ctx context.Context, p plan) (*report.Report, error) {
	r := &report.Report{Smoke: p.quick}
	for _, c := range benchCases {
		if len(p.cases) > 0 && !slices.Contains(p.cases, c.id) {
			continue
		}
		measured, err := c.measure(ctx, b, c, p)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.id, err)
		}
		r.Cases = append(r.Cases, measured)
	}
	return r, nil
}
