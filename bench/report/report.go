// Package report turns measurements into what people and programs read: medians,
// ratios, tables and one JSON object.
//
// It owns the names of the numbers and of the comparisons. It must not know how
// anything is measured.
package report

import (
	"math"
	"slices"
	"time"
)

// Metric is the name of a number in the JSON object.
type Metric string

// The numbers of a trial. A number that was not measured is missing.
const (
	Accepted      Metric = "accepted_per_second" // answers, from the first request to the last answer
	Decided       Metric = "decided_per_second"  // decisions, from the first request to the last decision
	AnsweredP50   Metric = "answered_p50_ms"     // from the request to the answer
	AnsweredP99   Metric = "answered_p99_ms"
	DecidedP50    Metric = "decided_p50_ms" // from accepted to decided; in lone and trickle from the request until the outcome is known
	DecidedP99    Metric = "decided_p99_ms"
	CPU           Metric = "cpu_ms_per_request" // of the contender's own processes
	CPUPostgres   Metric = "cpu_postgres_ms_per_request"
	CPURedis      Metric = "cpu_redis_ms_per_request"
	CPUClient     Metric = "cpu_client_ms_per_request"
	CPUSeated     Metric = "cpu_ms_per_seated" // of all processes together, per person who got a seat
	Oversold      Metric = "oversold"
	GaveUp        Metric = "gave_up"          // people who were turned away undecided
	Plain         Metric = "plain_per_second" // accepted in the same rush without what the case adds
	APIShare      Metric = "api_cpu_percent"  // of a core
	WorkerShare   Metric = "worker_cpu_percent"
	RedisOps      Metric = "redis_commands_per_second"
	PostgresOps   Metric = "postgres_transactions_per_second"
	RedisShare    Metric = "redis_cpu_percent"
	PostgresShare Metric = "postgres_cpu_percent"
)

// Sample has the numbers of one trial.
type Sample map[Metric]float64

// Median returns the median of each number over the samples that have it.
func Median(samples []Sample) Sample {
	all := make(map[Metric][]float64)
	for _, s := range samples {
		for m, x := range s {
			all[m] = append(all[m], x)
		}
	}
	medians := make(Sample, len(all))
	for m, xs := range all {
		medians[m] = median(xs)
	}
	return medians
}

// median returns the middle of the numbers, or between the two in the middle.
func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// Percentile returns the smallest duration that at least that share of the
// durations does not exceed (the nearest rank), in milliseconds; 0 if there are
// none.
func Percentile(took []time.Duration, share float64) float64 {
	if len(took) == 0 {
		return 0
	}
	took = slices.Sorted(slices.Values(took))
	rank := int(math.Ceil(share*float64(len(took)))) - 1
	return Milliseconds(took[min(max(rank, 0), len(took)-1)])
}

// Milliseconds returns a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// PerSecond returns the count per second; 0 if it took no time.
func PerSecond(count int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(count) / took.Seconds()
}
