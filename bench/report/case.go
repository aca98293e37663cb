package report

import "math"

// Entrant is a contender in a case, with its samples.
type Entrant struct {
	Name      string
	Lacks     string // the promises that it does not make
	Recording bool
	Oversells bool // it is no solution, even if it did not oversell this time
	Pool      int
	Samples   []Sample // one for each round
}

// valid reports whether it is a solution, with which Lastseat is compared.
func (e *Entrant) valid() bool {
	return e != nil && len(e.Samples) > 0 && !e.Oversells && Median(e.Samples)[Oversold] == 0
}

// Rate returns how many requests per second a trial served.
func Rate(s Sample) float64 { return rate(s) }

// Case is a case and the contenders that were measured in it.
type Case struct {
	ID       string
	What     string
	Lastseat Entrant
	Ceiling  *Entrant // nil = it has none
	Rivals   []*Entrant
	Targets  []Target
}

// Report is everything that was measured.
type Report struct {
	Cases []*Case
	// Smoke says that so few people asked that the numbers mean nothing.
	Smoke bool
}

// rate returns how many requests per second an entrant serves: the slower of
// accepting and deciding, since serving takes both. It is NaN if no rate was
// measured.
func rate(s Sample) float64 {
	lowest := math.NaN()
	for _, m := range []Metric{Accepted, Decided} {
		if x, has := s[m]; has && !(x >= lowest) {
			lowest = x
		}
	}
	return lowest
}

// best returns the fastest rival that is a solution, with recording the fastest
// that also records; nil if there is none.
func (c *Case) best(recording bool) *Entrant {
	var best *Entrant
	for _, r := range c.Rivals {
		if r.valid() && (r.Recording || !recording) && rate(Median(r.Samples)) > 0 &&
			(best == nil || rate(Median(r.Samples)) > rate(Median(best.Samples))) {
			best = r
		}
	}
	return best
}

// ratioTo returns how many times as fast as the other Lastseat is; NaN if one of
// them was not measured.
func (c *Case) ratioTo(other *Entrant) float64 {
	if other == nil || len(c.Lastseat.Samples) == 0 || len(other.Samples) == 0 {
		return math.NaN()
	}
	return quotient(rate(Median(c.Lastseat.Samples)), rate(Median(other.Samples)))
}

// ratioToPlain compares the accept rate with that of the same rush without what the
// case adds; NaN if that was not measured.
func (c *Case) ratioToPlain() float64 {
	m := Median(c.Lastseat.Samples)
	return quotient(m[Accepted], m[Plain])
}

func quotient(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
