package intake

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	accepted prometheus.Counter
	refused  *prometheus.CounterVec
	batches  prometheus.Histogram
	commits  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, waiting func() int) metrics {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lastseat_intake_waiting",
		Help: "Requests that wait for their commit to begin.",
	}, func() float64 { return float64(waiting()) })
	return metrics{
		accepted: f.NewCounter(prometheus.CounterOpts{
			Name: "lastseat_requests_accepted_total",
			Help: "Requests that got a ticket.",
		}),
		refused: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lastseat_requests_refused_total",
			Help: "Requests that got no ticket, by error code.",
		}, []string{"code"}),
		batches: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "lastseat_intake_batch_requests",
			Help:    "Requests per accepting transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		commits: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "lastseat_intake_commit_seconds",
			Help:    "Duration of accepting transactions, including further attempts after an unknown outcome.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
	}
}
