package main

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
)

// benchPlan is what a bench is to do.
type benchPlan struct {
	cases  []string // their ids; empty = all
	rivals []string // their names, and the ceiling's; empty = all
	rounds int
	quick  bool // a smoke run: everything once, with few people
	json   bool
}

// parseBench reads the arguments of `dev bench`.
func parseBench(args []string) (p benchPlan, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("cases", "", listOf("case", caseIDs(), &p.cases))
	flags.Func("rivals", "", listOf("rival", append(rivalNames(), noRivals), &p.rivals))
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

// noRivals is the name of none of the other contenders: Lastseat alone, for who
// changes something.
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

// listOf reads words that are separated by commas, each one of those that are known.
func listOf(kind string, known []string, into *[]string) func(string) error {
	return func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			if !slices.Contains(known, word) {
				return fmt.Errorf("there is no %s %q", kind, word)
			}
			*into = append(*into, word)
		}
		return nil
	}
}

// includes tells whether the contender is to be measured in the case.
func (p benchPlan) includes(who rivals.Contender, c benchCase) bool {
	if len(p.rivals) > 0 {
		return slices.Contains(p.rivals, who.Name)
	}
	return !p.quick || c.everybody || slices.Contains(quickRivals, who.Name)
}

// quickRivals are those that a smoke run has in every case.
var quickRivals = []string{"guarded", "guarded_recording"}

// bench is `dev bench`: Lastseat, the other answers and the ceiling, each in
// processes of its own on the same services, one after the other, before the same
// crowd. docs/performance.md tells how it is done and what came of it.
func (t *tool) bench(ctx context.Context, args []string) error {
	plan, err := parseBench(args)
	if err != nil {
		fmt.Fprintf(t.stderr, "bench: %v; CASES (-cases) are some of %s; RIVALS (-rivals) are %s, or some of %s\n",
			err, strings.Join(caseIDs(), ","), noRivals, strings.Join(rivalNames(), ","))
		return exitUsage
	}
	return orInterrupted(ctx, t.withArena(ctx, func(ctx context.Context, a *arena) error {
		began := time.Now()
		r, err := a.measureAll(ctx, plan)
		if err != nil {
			return err
		}
		if err := r.WriteTables(t.stdout); err != nil {
			return err
		}
		explain(t.stdout, plan, time.Since(began))
		if plan.json {
			return r.WriteJSON(t.stdout)
		}
		return nil
	}, "./bench/cmd/rival"))
}

// explain says who the contenders are and what the words mean.
func explain(w io.Writer, plan benchPlan, took time.Duration) {
	fmt.Fprintln(w)
	for _, c := range rivals.All {
		if !c.Recording || c.Async { // the variants do the same, and record
			fmt.Fprintf(w, "%s: %s\n", c.Name, c.What)
		}
	}
	fmt.Fprintf(w, "…_recording: the same, and records each request with its outcome, as Lastseat does.\n\n%s\n", rivals.Promises)
	fmt.Fprintf(w, "\nMedians of %d rounds, everything on this machine, in %s. docs/performance.md says how it is measured.\n",
		plan.rounds, took.Round(time.Second))
}

// measureAll measures the cases of the plan.
func (a *arena) measureAll(ctx context.Context, plan benchPlan) (*report.Report, error) {
	r := &report.Report{Smoke: plan.quick}
	for _, c := range benchCases {
		if len(plan.cases) > 0 && !slices.Contains(plan.cases, c.id) {
			continue
		}
		measured, err := c.measure(ctx, a, c, plan)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.id, err)
		}
		r.Cases = append(r.Cases, measured)
	}
	return r, nil
}
