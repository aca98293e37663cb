package report

import "math"

// Entrant is a contender in a case.
type Entrant struct {
	Name      string
	Lacks     string // the promises that it does not make
	Recording bool
	Oversells bool // it is no solution, whatever it did this time
	Pool      int
	Samples   []Sample // one for each round
}

// valid tells whether it is a solution, to which Lastseat can be compared.
func (e *Entrant) valid() bool {
	return e != nil && len(e.Samples) > 0 && !e.Oversells && Median(e.Samples)[Oversold] == 0
}

// Rate returns how many a second got through in a cell.
func Rate(s Sample) float64 { return rate(s) }

// Case is a case and who was measured in it.
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
	// Smoke tells that it was measured with so few people that the numbers mean
	// nothing.
	Smoke bool
}

// rate returns how many an entrant gets through in a second: of what is accepted
// and what is decided, the slower, since it lasts until both are done. It is NaN
// where no rate was measured.
func rate(s Sample) float64 {
	lowest := math.NaN()
	for _, m := range []Metric{Accepted, Decided} {
		if x, has := s[m]; has && !(x >= lowest) {
			lowest = x
		}
	}
	return lowest
}

// best returns the fastest rival that is a solution, and with recording only
// among those that record; nil if there is none.
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

// ratioToPlain compares the accept rate with the same rush without what the case
// adds; NaN if the case has no such twin.
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
