package lane

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Why a request was settled, or a lane was started.
const (
	byTask     = "task"     // settled: a task on the run's queue
	bySweep    = "sweep"    // settled or started: the sweep found the line waiting
	byStall    = "stall"    // settled: the sweep found that the line stood still
	byWake     = "wake"     // started: a wake-up for the run
	byLeftover = "leftover" // started: a leftover task on the run's queue
)

// Metrics are the metrics of a worker's lanes.
type Metrics struct {
	settled    *prometheus.CounterVec
	settle     prometheus.Histogram
	settleRuns prometheus.Histogram
	lanes      prometheus.Gauge
	started    *prometheus.CounterVec
	refused    prometheus.Counter
	lost       prometheus.Counter
	oldest     prometheus.Gauge
	standing   *prometheus.GaugeVec
}

// NewMetrics registers the metrics of one worker.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	m := &Metrics{
		settled: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lastseat_requests_settled_total",
			Help: "Requests decided, by cause: task (a task on the run's queue), sweep (the sweep found the line waiting), stall (the sweep found that the line stood still, and settled it without the lock of its lane).",
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
			Help: "Lanes started, by cause: wake (a wake-up for the run), sweep (the sweep found the line waiting), leftover (a leftover task on the run's queue).",
		}, []string{"by"}),
		refused: f.NewCounter(prometheus.CounterOpts{
			Name: "lastseat_lanes_refused_total",
			Help: "Lanes not started because the worker had worker.max_lanes already.",
		}),
		lost: f.NewCounter(prometheus.CounterOpts{
			Name: "lastseat_lane_locks_lost_total",
			Help: "Losses of the lane lock connection. Each ended all lanes of the worker.",
		}),
		oldest: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_oldest_undecided_seconds",
			Help: "Age of the oldest undecided request that the last sweep found, or 0 if none was older than a second.",
		}),
		standing: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lastseat_line_standing_seconds",
			Help: "How long the line of the run has stood still. Only the ten lines that have stood still for longest appear, and none before two seconds.",
		}, []string{"run"}),
	}
	for _, by := range []string{byTask, bySweep, byStall} {
		m.settled.WithLabelValues(by) // so that a share can be computed from the start
	}
	return m
}
