package harness

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// againstPlan is how this tree is to be compared with a commit.
type againstPlan struct {
	commit string // in any form that git understands
	rounds int
	people int // of each rush
	seats  int
	json   bool
}

// parseAgainst reads the arguments of `bench against`.
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

// Against is `bench against`: the same rush on this tree and on another commit, in
// turns, and the CPU time per person who got a seat.
func Against(ctx context.Context, t *stack.Tool, args []string) error {
	p, err := parseAgainst(args)
	if err != nil {
		fmt.Fprintf(t.Stderr, "bench-against: %v; COMMIT (-commit) must be a commit, ROUNDS (-rounds) 1 to 99, "+
			"PEOPLE (-people) 1 to 100000 and SEATS (-seats) 1 to PEOPLE\n", err)
		return proc.ExitUsage
	}
	return proc.OrInterrupted(ctx, withTestbed(ctx, t, func(ctx context.Context, b *testbed) error {
		c, err := b.compare(ctx, p)
		if err != nil {
			return err
		}
		if err := c.writeTable(t.Stdout); err != nil || !p.json {
			return err
		}
		return c.writeJSON(t.Stdout)
	}))
}

// compare builds the other commit and gives both a rush in each round, each on a
// new database that its own programs have migrated.
func (b *testbed) compare(ctx context.Context, p againstPlan) (*comparison, error) {
	other, err := b.buildCommit(ctx, p.commit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.drop(ctx, other.template) }() // if it stays, it does no harm
	c := &comparison{plan: p, commit: other.name}
	w := workload{people: p.people, runs: 1, seats: p.seats}
	for round := range p.rounds {
		both := map[bool]report.Sample{}
		// The other commit first, and in the next round last.
		for _, isTree := range []bool{round%2 == 1, round%2 == 0} {
			of := other
			if isTree {
				of = b.tree()
			}
			s, err := b.trialOfBuild(ctx, of, w)
			if err != nil {
				return nil, fmt.Errorf("round %d: %s: %w", round+1, of.name, err)
			}
			if _, known := s[report.CPUSeated]; !known {
				return nil, errors.New("the CPU time is not known: it needs Linux, and a Postgres and a Redis that it may start itself")
			}
			both[isTree] = s
		}
		c.base, c.tree = append(c.base, both[false]), append(c.tree, both[true])
		b.tool.Log.Printf("round %d of %d: CPU per seated person %.4f ms before, %.4f ms in this tree: %.3f", round+1, p.rounds,
			both[false][report.CPUSeated], both[true][report.CPUSeated], both[true][report.CPUSeated]/both[false][report.CPUSeated])
	}
	return c, nil
}

// comparison has the samples of both builds, one per round.
type comparison struct {
	plan   againstPlan
	commit string          // its short hash
	base   []report.Sample // of the commit
	tree   []report.Sample
}

// comparisonJSON is the last line of a comparison with -json.
type comparisonJSON struct {
	Commit       string                    `json:"commit"`
	Rounds       int                       `json:"rounds"`
	People       int                       `json:"people"`
	Seats        int                       `json:"seats"`
	CPURatio     float64                   `json:"cpu_per_seated_ratio"` // this tree / the commit, of the medians
	LowestRatio  float64                   `json:"cpu_per_seated_ratio_lowest"`
	HighestRatio float64                   `json:"cpu_per_seated_ratio_highest"` // of one round
	Base         map[report.Metric]float64 `json:"commit_median"`
	Tree         map[report.Metric]float64 `json:"tree_median"`
}

// comparedMetrics are shown for both builds, the one that counts first.
var comparedMetrics = []report.Metric{
	report.CPUSeated, report.CPU, report.CPUPostgres, report.CPURedis, report.CPUClient,
	report.Accepted, report.Decided, report.DecidedP50, report.DecidedP99,
}

func (c *comparison) json() comparisonJSON {
	j := comparisonJSON{
		Commit: c.commit, Rounds: len(c.tree), People: c.plan.people, Seats: c.plan.seats,
		Base: make(map[report.Metric]float64), Tree: make(map[report.Metric]float64),
	}
	base, tree := report.Median(c.base), report.Median(c.tree)
	for _, m := range comparedMetrics {
		j.Base[m], j.Tree[m] = precise(base[m]), precise(tree[m])
	}
	var ratios []float64
	for i := range c.tree {
		ratios = append(ratios, c.tree[i][report.CPUSeated]/c.base[i][report.CPUSeated])
	}
	j.CPURatio = precise(tree[report.CPUSeated] / base[report.CPUSeated])
	j.LowestRatio, j.HighestRatio = precise(slices.Min(ratios)), precise(slices.Max(ratios))
	return j
}

// precise rounds to four decimals: a person costs a tenth of a millisecond.
func precise(x float64) float64 { return math.Round(x*10_000) / 10_000 }

func (c *comparison) writeJSON(out io.Writer) error { return json.NewEncoder(out).Encode(c.json()) }

// writeTable prints the medians of both builds for people.
func (c *comparison) writeTable(out io.Writer) error {
	j := c.json()
	fmt.Fprintf(out, "\n%d people ask for the %d seats of one run; medians of %d rounds in turns\n\n", j.People, j.Seats, j.Rounds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\t%s\tthis tree\tratio\t\n", j.Commit)
	for _, m := range comparedMetrics {
		fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%.3f\t\n", m, j.Base[m], j.Tree[m], j.Tree[m]/j.Base[m])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nCPU per seated person: %.3f times that of %s (single rounds: %.3f to %.3f).\n", j.CPURatio, j.Commit, j.LowestRatio, j.HighestRatio)
	return err
}
