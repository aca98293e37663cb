package rush

import (
	"math"
	"strings"
	"testing"
)

// FuzzParseSettled: the counters are found, or reported to be missing.
func FuzzParseSettled(f *testing.F) {
	const task, sweep, stall = `lastseat_requests_settled_total{by="task"} `, `lastseat_requests_settled_total{by="sweep"} `, `lastseat_requests_settled_total{by="stall"} `
	for _, seed := range []string{"", task + "1\n" + sweep + "2\n" + stall + "0\n", task + "1\n", task + "x\n" + sweep + "2\n" + stall + "0", task + "NaN\n" + sweep + "+Inf\n" + stall + "0", task + "1\n" + task + "2\n", "# HELP\n" + task + "1e3\r\n" + sweep + "0x1p4\n" + stall + "0", strings.Repeat("x", 1<<17)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, metrics string) {
		s, err := parseSettled(strings.NewReader(metrics))
		if err != nil {
			return
		}
		if !strings.Contains(metrics, task) || !strings.Contains(metrics, sweep) || !strings.Contains(metrics, stall) {
			t.Errorf("%q has %+v", metrics, s)
		}
		for _, n := range []float64{s.task, s.sweep} {
			if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
				t.Errorf("%q has %+v", metrics, s)
			}
		}
		if part := taskShare(s.task, s.sweep); part < 0 || part > 1 {
			t.Errorf("%q: the share is %g", metrics, part)
		}
	})
}
