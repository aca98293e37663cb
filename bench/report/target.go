package report

import (
	"fmt"
	"math"
)

// Target is a number that a case is to reach.
type Target struct {
	What  string
	Most  float64 // at most that, or
	Least float64 // at least that
	of    func(*Case) float64
}

// AtLeast is a target for a ratio: to the best rival, to the best that records,
// to the ceiling or to the same rush without what the case adds.
func AtLeast(least float64, what Ratio) Target {
	return Target{What: string(what), Least: least, of: ratios[what]}
}

// AtMost is a target for one of Lastseat's numbers.
func AtMost(most float64, m Metric) Target {
	return Target{What: string(m), Most: most, of: func(c *Case) float64 {
		x, has := Median(c.Lastseat.Samples)[m]
		if !has {
			return math.NaN()
		}
		return x
	}}
}

// Ratio is the name of a comparison in the JSON object.
type Ratio string

// The ratios.
const (
	ToBestRival          Ratio = "ratio_to_best_rival"
	ToBestRecordingRival Ratio = "ratio_to_best_recording_rival"
	ToCeiling            Ratio = "ratio_to_ceiling"
	ToPlain              Ratio = "ratio_to_plain"
)

var ratios = map[Ratio]func(*Case) float64{
	ToBestRival:          func(c *Case) float64 { return c.ratioTo(c.best(false)) },
	ToBestRecordingRival: func(c *Case) float64 { return c.ratioTo(c.best(true)) },
	ToCeiling:            func(c *Case) float64 { return c.ratioTo(c.Ceiling) },
	ToPlain:              (*Case).ratioToPlain,
}

// verdict says in words whether the target is reached.
func (t Target) verdict(c *Case) string {
	x := t.of(c)
	want, met := fmt.Sprintf("at most %g", t.Most), x <= t.Most
	if t.Least > 0 {
		want, met = fmt.Sprintf("at least %g", t.Least), x >= t.Least
	}
	switch {
	case math.IsNaN(x):
		return fmt.Sprintf("%s %s: not measured", t.What, want)
	case met:
		return fmt.Sprintf("%s %s: met (%s)", t.What, want, number(x))
	default:
		return fmt.Sprintf("%s %s: MISSED (%s)", t.What, want, number(x))
	}
}
