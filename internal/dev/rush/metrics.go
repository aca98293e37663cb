package rush

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// settled is a worker's counters of settled requests.
type settled struct {
	task  float64
	sweep float64 // in a lane or without one
}

// readSettled reads the counters of the worker with the admin listener at the URL.
func readSettled(ctx context.Context, admin string) (settled, error) {
	var s settled
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/metrics", nil)
	if err != nil {
		return s, err
	}
	response, err := http.DefaultClient.Do(r)
	if err == nil {
		defer response.Body.Close()
		s, err = parseSettled(response.Body)
	}
	if err != nil {
		return s, fmt.Errorf("reading the worker's metrics: %w", err)
	}
	return s, nil
}

// parseSettled finds the counters among the lines of a worker's metrics.
func parseSettled(metrics io.Reader) (settled, error) {
	counters := map[string]float64{}
	for lines := bufio.NewScanner(metrics); lines.Scan(); {
		for _, by := range []string{"task", "sweep", "stall"} {
			text, ok := strings.CutPrefix(lines.Text(), `lastseat_requests_settled_total{by="`+by+`"} `)
			if !ok {
				continue
			}
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return settled{}, err
			}
			if n < 0 || n != math.Trunc(n) || math.IsInf(n, 0) { // NaN is unlike itself
				return settled{}, fmt.Errorf("%g requests were settled by %s", n, by)
			}
			counters[by] = n
		}
	}
	if len(counters) != 3 {
		return settled{}, errors.New("the counters of settled requests are not there")
	}
	return settled{counters["task"], counters["sweep"] + counters["stall"]}, nil
}

func taskShare(task, sweep float64) float64 {
	if task+sweep == 0 {
		return 0
	}
	return task / (task + sweep)
}
