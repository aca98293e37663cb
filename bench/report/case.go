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

// beats tells whether Lastseat is to be compared with it.
func (e *Entrant) valid() bool {
	return e != nil && len(e.Samples) > 0 && !e.Oversells && Median(e.Samples)[Oversold] == 0
}

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
type Report struct{ Cases []*Case }

// rate returns how many an entrant gets through in a second: of what is accepted
// and what is decided, the slower, since it lasts until both are done.
func rate(s Sample) float64 {
	accepted, has := s[Accepted]
	if decided, is := s[Decided]; is && (!has || decided < accepted) {
		return decided
	}
	return accepted
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
	if a == 0 || b == 0 {
		return math.NaN()
	}
	return a / b
}
