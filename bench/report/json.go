package report

import (
	"encoding/json"
	"io"
	"math"
)

// The object that WriteJSON writes. A number that was not measured is null.
type reportJSON struct {
	CeilingPerSecond *float64   `json:"ceiling_per_second"`
	Cases            []caseJSON `json:"cases"`
}

type caseJSON struct {
	ID                        string               `json:"id"`
	Lastseat                  map[Metric]*float64  `json:"lastseat"`
	Rivals                    map[string]rivalJSON `json:"rivals"`
	RatioToBestRival          *float64             `json:"ratio_to_best_rival"`
	RatioToBestRecordingRival *float64             `json:"ratio_to_best_recording_rival"`
	RatioToCeiling            *float64             `json:"ratio_to_ceiling"`
	RatioToPlain              *float64             `json:"ratio_to_plain"` // the same rush without what the case adds
	BestRival                 string               `json:"best_rival"`
	BestRecordingRival        string               `json:"best_recording_rival"`
}

type rivalJSON struct {
	PerSecond *float64 `json:"per_second"`
	P50       *float64 `json:"p50_ms"`
	P99       *float64 `json:"p99_ms"`
	CPUSeated *float64 `json:"cpu_ms_per_seated"`
	Oversold  float64  `json:"oversold"`
	Pool      int      `json:"pool"`
	GaveUp    float64  `json:"gave_up"`
	Recording bool     `json:"recording"`
	Rounds    int      `json:"rounds"`
}

// always has the numbers of Lastseat that every case has, even if they are null.
var always = []Metric{Accepted, Decided, DecidedP50, DecidedP99, CPU, CPUSeated}

// WriteJSON writes the report as one object in one line.
func (r *Report) WriteJSON(w io.Writer) error {
	out := reportJSON{CeilingPerSecond: known(r.ceiling()), Cases: []caseJSON{}}
	for _, c := range r.Cases {
		j := caseJSON{
			ID: c.ID, Lastseat: make(map[Metric]*float64), Rivals: make(map[string]rivalJSON),
			RatioToBestRival: known(ratios[ToBestRival](c)), RatioToBestRecordingRival: known(ratios[ToBestRecordingRival](c)),
			RatioToCeiling: known(ratios[ToCeiling](c)), RatioToPlain: known(ratios[ToPlain](c)),
		}
		for _, m := range always {
			j.Lastseat[m] = nil
		}
		for m, x := range Median(c.Lastseat.Samples) {
			j.Lastseat[m] = known(x)
		}
		for _, e := range c.Rivals {
			j.Rivals[e.Name] = e.json()
		}
		if b := c.best(false); b != nil {
			j.BestRival = b.Name
		}
		if b := c.best(true); b != nil {
			j.BestRecordingRival = b.Name
		}
		out.Cases = append(out.Cases, j)
	}
	return json.NewEncoder(w).Encode(out)
}

func (e *Entrant) json() rivalJSON {
	m := Median(e.Samples)
	j := rivalJSON{Oversold: rounded(m[Oversold]), Pool: e.Pool, GaveUp: rounded(m[GaveUp]), Recording: e.Recording, Rounds: len(e.Samples)}
	if len(e.Samples) > 0 {
		p50, p99 := e.latency()
		j.PerSecond, j.P50, j.P99, j.CPUSeated = known(rate(m)), known(p50), known(p99), known(valueOf(m, CPUSeated))
	}
	return j
}

// latency returns how long a decision takes.
func (e *Entrant) latency() (p50, p99 float64) {
	m := Median(e.Samples)
	return valueOf(m, DecidedP50, AnsweredP50), valueOf(m, DecidedP99, AnsweredP99)
}

// valueOf returns the first of the numbers that was measured; NaN if there is none.
func valueOf(s Sample, metrics ...Metric) float64 {
	for _, m := range metrics {
		if x, has := s[m]; has {
			return x
		}
	}
	return math.NaN()
}

// ceiling returns the median of the ceilings of all cases that consist of nothing
// but requests for a seat.
func (r *Report) ceiling() float64 {
	var all []float64
	for _, c := range r.Cases {
		if c.Ceiling == nil || c.ratioToPlain() == c.ratioToPlain() { // in the second case, polls are sent as well
			continue
		}
		for _, s := range c.Ceiling.Samples {
			all = append(all, rate(s))
		}
	}
	return median(all)
}

// known returns the number, or nil if it was not measured.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	x = rounded(x)
	return &x
}

// rounded rounds to a precision that is enough for people and for comparisons.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
