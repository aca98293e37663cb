package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/bench/report"
)

// rushCPU is the CPU time that a rush took, from the first click until everybody
// had heard the outcome, for each person who has a seat in the end.
type rushCPU struct {
	Total  *float64         `json:"cpu_ms_per_seated"` // null = not all of it is known, or nobody has a seat
	ByPart map[part]float64 `json:"cpu_ms_per_seated_by_part"`

	missing []part // that are not on this machine, or not ours
}

// newRushCPU shares what was used among the people who are seated.
func newRushCPU(used cpuTimes, seated int) rushCPU {
	c := rushCPU{ByPart: make(map[part]float64), missing: used.missing(rushParts...)}
	if seated == 0 {
		return c
	}
	for p, took := range used {
		c.ByPart[p] = rounded(report.Milliseconds(took) / float64(seated))
	}
	if total, known := used.sum(rushParts...); known {
		c.Total = new(rounded(report.Milliseconds(total) / float64(seated)))
	}
	return c
}

func (c rushCPU) words() string {
	var parts []string
	for _, p := range rushParts {
		if ms, known := c.ByPart[p]; known {
			parts = append(parts, fmt.Sprintf("%s %.3f", p, ms))
		}
	}
	switch {
	case c.Total != nil:
		return fmt.Sprintf("%.3f ms (%s)", *c.Total, strings.Join(parts, ", "))
	case len(c.missing) > 0:
		var names []string
		for _, p := range slices.Sorted(slices.Values(c.missing)) {
			names = append(names, string(p))
		}
		return "not known: it cannot be read of " + strings.Join(names, ", ")
	default:
		return "none: nobody has a seat"
	}
}
