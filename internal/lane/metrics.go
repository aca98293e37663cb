package lane

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What had a request settled, or a lane started.
const (
	byTask     = "task"     // settled: a task on the run's queue
	bySweep    = "sweep"    // settled or started: a look that found the line waiting
	byStall    = "stall"    // settled: a look that found it standing still, without a lane
	byWake     = "wake"     // started: somebody rang
	byLeftover = "leftover" // started: a look that found a task on the queue
)

// Metrics are what a worker tells about its lanes.
type Metrics struct {
	settled    *prometheus.CounterVec
	settle     prometheus.Histogram
	settleRuns prometheus.Histogram
	lanes      prometheus.Gauge
	started    *prometheus.CounterVec
	refused    prometheus.Counter
	lost       prometheus.Counter
	oldest     prometheus.Gauge
}

// NewMetrics registers the metrics of one worker.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	m := &Metrics{
		settled: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lastseat_requests_settled_total",
			Help: "Requests decided, by what had them decided: a task on the run's queue, the sweep that finds lines that wait (sweep), or that found one standing still and settled it without its lane's lock (stall).",
		}, []string{"by"}),
		settle: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "lastseat_settle_seconds",
			Help:    "Duration of settling transactions.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		settleRuns: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "lastseat_settle_runs",
			Help:    "Runs settled together in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		lanes: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_lanes",
			Help: "Lanes alive in this worker.",
		}),
		started: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lastseat_lanes_started_total",
			Help: "Lanes started, by cause: wake (a message came), sweep (a line was found waiting) or leftover (a task was).",
		}, []string{"by"}),
		refused: f.NewCounter(prometheus.CounterOpts{
			Name: "lastseat_lanes_refused_total",
			Help: "Lanes not started because the worker has worker.max_lanes already.",
		}),
		lost: f.NewCounter(prometheus.CounterOpts{
			Name: "lastseat_lane_locks_lost_total",
			Help: "Times the lane lock connection was lost, and all lanes with it.",
		}),
		oldest: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_oldest_undecided_seconds",
			Help: "Age of the oldest undecided request that the last sweep over all runs found; 0 = none older than a second.",
		}),
	}
	for _, by := range []string{byTask, bySweep, byStall} {
		m.settled.WithLabelValues(by) // so that a share can be computed from the start
	}
	return m
}
