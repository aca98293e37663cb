package systemtest

import (
	"bufio"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metric returns a value from the program's metrics, or 0 if it is missing. A
// name with labels is written as in the metrics.
func (p *process) metric(name string) float64 {
	p.t.Helper()
	answer, err := http.Get("http://" + p.Admin + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if text, is := strings.CutPrefix(lines.Text(), name+" "); is {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return value
		}
	}
	return 0
}

// memory returns the program's memory in MiB.
func (p *process) memory() float64 {
	p.t.Helper()
	return p.metric("process_resident_memory_bytes") / (1 << 20)
}

// cpu returns the program's CPU time.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	return time.Duration(p.metric("process_cpu_seconds_total") * float64(time.Second))
}

// requireQuiet fails the test if the program has logged an error.
func (p *process) requireQuiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.errors {
		p.t.Errorf("it logged an error: %s", line)
	}
}

// quantile returns the value below which that share of the durations lies.
func quantile(took []time.Duration, share float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	took = slices.Sorted(slices.Values(took))
	return took[min(int(share*float64(len(took))), len(took)-1)]
}
