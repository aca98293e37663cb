package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// settled is what a worker's counters say.
type settled struct{ task, sweep float64 }

// settledBy reads the counters of requests settled by tasks and by the sweep, in
// a lane or without one.
func settledBy(ctx context.Context, admin string) (settled, error) {
	var s settled
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/metrics", nil)
	if err != nil {
		return s, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return s, fmt.Errorf("reading the worker's metrics: %w", err)
	}
	defer answer.Body.Close()
	return readSettled(answer.Body)
}

// readSettled finds the counters among the lines of a worker's metrics.
func readSettled(metrics io.Reader) (settled, error) {
	counters := map[string]float64{}
	for lines := bufio.NewScanner(metrics); lines.Scan(); {
		for _, by := range []string{"task", "sweep", "stall"} {
			text, is := strings.CutPrefix(lines.Text(), `lastseat_requests_settled_total{by="`+by+`"} `)
			if !is {
				continue
			}
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return settled{}, fmt.Errorf("reading the worker's metrics: %w", err)
			}
			if n < 0 || n != math.Trunc(n) || math.IsInf(n, 0) { // which NaN is not, either
				return settled{}, fmt.Errorf("reading the worker's metrics: %g requests were settled by %s", n, by)
			}
			counters[by] = n
		}
	}
	if len(counters) != 3 {
		return settled{}, fmt.Errorf("reading the worker's metrics: the counters of settled requests are not there")
	}
	return settled{counters["task"], counters["sweep"] + counters["stall"]}, nil
}

func share(task, sweep float64) float64 {
	if task+sweep == 0 {
		return 0
	}
	return task / (task + sweep)
}
