package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// settled is what a worker's counters say.
type settled struct{ task, sweep float64 }

// settledBy reads the counters of requests settled by tasks and by the sweep.
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
	found := 0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		for by, to := range map[string]*float64{"task": &s.task, "sweep": &s.sweep} {
			if text, is := strings.CutPrefix(lines.Text(), `lastseat_requests_settled_total{by="`+by+`"} `); is {
				if *to, err = strconv.ParseFloat(text, 64); err != nil {
					return s, fmt.Errorf("reading the worker's metrics: %w", err)
				}
				found++
			}
		}
	}
	if found != 2 {
		return s, fmt.Errorf("reading the worker's metrics: the counters of settled requests are not there")
	}
	return s, nil
}

func share(task, sweep float64) float64 {
	if task+sweep == 0 {
		return 0
	}
	return task / (task + sweep)
}
