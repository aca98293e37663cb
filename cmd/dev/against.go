package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/lastseat/lastseat/bench/report"
)

// againstPlan is how this tree is to be compared with a commit.
type againstPlan struct {
	commit string // anything that git takes for one
	rounds int
	people int // of each rush
	seats  int
	json   bool
}

func parseAgainst(args []string) (p againstPlan, err error) {
	flags := flag.NewFlagSet("bench-against", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&p.commit, "commit", "", "")
	flags.IntVar(&p.rounds, "rounds", 10, "")
	flags.IntVar(&p.people, "people", 5000, "")
	flags.IntVar(&p.seats, "seats", 0, "")
	flags.BoolVar(&p.json, "json", false, "")
	if err = flags.Parse(args); err != nil {
		return p, err
	}
	if p.seats == 0 {
		p.seats = p.people
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is not expected", flags.Arg(0))
	case p.commit == "":
		err = errors.New("COMMIT is missing")
	case p.rounds < 1 || p.rounds > 99, p.people < 1 || p.people > 100_000, p.seats < 1 || p.seats > p.people:
		err = errors.New("out of range")
	}
	return p, err
}

// benchAgainst is `dev bench-against`: the same rush on this tree and on another
// commit, in turns, and what each person who got a seat has cost.
func (t *tool) benchAgainst(ctx context.Context, args []string) error {
	plan, err := parseAgainst(args)
	if err != nil {
		fmt.Fprintf(t.stderr, "bench-against: %v; COMMIT (-commit) must be a commit, ROUNDS (-rounds) 1 to 99, "+
			"PEOPLE (-people) 1 to 100000 and SEATS (-seats) 1 to PEOPLE\n", err)
		return exitUsage
	}
	return orInterrupted(ctx, t.withArena(ctx, func(ctx context.Context, a *arena) error {
		result, err := a.compare(ctx, plan)
		if err != nil {
			return err
		}
		if err := result.writeTable(t.stdout); err != nil || !plan.json {
			return err
		}
		return result.writeJSON(t.stdout)
	}))
}

// compare builds the other commit and lets both have a rush in each round, each
// on a new database that its own programs have migrated.
func (a *arena) compare(ctx context.Context, plan againstPlan) (*comparison, error) {
	other, err := a.commit(ctx, plan.commit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.drop(ctx, other.template) }() // it is in nobody's way
	c := &comparison{plan: plan, commit: other.name}
	r := rushOf{people: plan.people, runs: 1, seats: plan.seats}
	for round := range plan.rounds {
		both := map[bool]report.Sample{}
		// The other commit first, and in the next round last.
		for _, isTree := range []bool{round%2 == 1, round%2 == 0} {
			e := other
			if isTree {
				e = a.tree()
			}
			s, err := a.rushOn(ctx, e, r)
			if err != nil {
				return nil, fmt.Errorf("round %d: %s: %w", round+1, e.name, err)
			}
			if _, known := s[report.CPUSeated]; !known {
				return nil, errors.New("the CPU time is not known: it needs Linux, and a Postgres and a Redis that it may start itself")
			}
			both[isTree] = s
		}
		c.base, c.tree = append(c.base, both[false]), append(c.tree, both[true])
		a.t.log.printf("round %d of %d: CPU per seated person %.4f ms before, %.4f ms in this tree: %.3f", round+1, plan.rounds,
			both[false][report.CPUSeated], both[true][report.CPUSeated], both[true][report.CPUSeated]/both[false][report.CPUSeated])
	}
	return c, nil
}
