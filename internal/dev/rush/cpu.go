package rush

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/verify"
)

// parts are the processes that work in a rush.
var parts = []proc.Part{proc.PartClient, proc.PartAPI, proc.PartWorker, proc.PartPostgres, proc.PartRedis}

// cpu is the CPU time of a rush, from the first submission until every person
// knew the outcome, per person who has a seat in the end.
type cpu struct {
	Total  *float64              `json:"cpu_ms_per_seated"` // null = not all of it is known, or no seat is taken
	ByPart map[proc.Part]float64 `json:"cpu_ms_per_seated_by_part"`

	missing []proc.Part // not on this machine, or not our own
}

// newCPU divides the time that was used by the people who are seated.
func newCPU(used proc.CPUTimes, seated int) cpu {
	c := cpu{ByPart: make(map[proc.Part]float64), missing: used.Missing(parts...)}
	if seated == 0 {
		return c
	}
	for p, took := range used {
		c.ByPart[p] = verify.Rounded(verify.Milliseconds(took) / float64(seated))
	}
	if total, known := used.Sum(parts...); known {
		c.Total = new(verify.Rounded(verify.Milliseconds(total) / float64(seated)))
	}
	return c
}

func (c cpu) words() string {
	var known []string
	for _, p := range parts {
		if ms, ok := c.ByPart[p]; ok {
			known = append(known, fmt.Sprintf("%s %.3f", p, ms))
		}
	}
	switch {
	case c.Total != nil:
		return fmt.Sprintf("%.3f ms (%s)", *c.Total, strings.Join(known, ", "))
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
