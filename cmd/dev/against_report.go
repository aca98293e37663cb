package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/lastseat/lastseat/bench/report"
)

// comparison is what the rounds of both sides came to.
type comparison struct {
	plan   againstPlan
	commit string          // as git shortens it
	base   []report.Sample // of the commit
	tree   []report.Sample
}

// againstJSON is the last line of a comparison with -json.
type againstJSON struct {
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

// comparedMetrics are what is shown of both sides, the one that counts first.
var comparedMetrics = []report.Metric{
	report.CPUSeated, report.CPU, report.CPUPostgres, report.CPURedis, report.CPUClient,
	report.Accepted, report.Decided, report.DecidedP50, report.DecidedP99,
}

func (c *comparison) json() againstJSON {
	j := againstJSON{
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

// precise is to a ten thousandth: what one person costs is a tenth of a
// millisecond.
func precise(x float64) float64 { return math.Round(x*10_000) / 10_000 }

func (c *comparison) writeJSON(out io.Writer) error { return json.NewEncoder(out).Encode(c.json()) }

// writeTable prints the medians of both sides for people.
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
