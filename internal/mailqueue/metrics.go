package mailqueue

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What an attempt to send a mail came to.
const (
	resultSent        = "sent"
	resultDeferred    = "deferred"    // the server does not take this mail for now
	resultUnreachable = "unreachable" // it was nobody's mail in particular
	resultRefused     = "refused"     // the server will never take it
	resultGivenUp     = "given_up"    // deferred, unreachable or a defect, for too long
	resultSkipped     = "skipped"     // superseded
	resultOverdue     = "overdue"     // skipped, since it came too late to make sense
	resultInvalid     = "invalid"     // a value of the run or its course is wrong: an organiser has to correct it
	resultDefect      = "defect"      // of ours
)

type metrics struct {
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
	away     prometheus.Gauge
	replaced prometheus.Counter
	pending  prometheus.Gauge
	overdue  prometheus.Gauge
	oldest   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		attempts: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lastseat_mail_attempts_total",
			Help: "Attempts to send a mail, by kind and result: sent, deferred, unreachable, refused, given_up, skipped (superseded), overdue (skipped since it came too late), invalid (a value of the run is wrong, such as its time zone), defect (of Lastseat).",
		}, []string{"kind", "result"}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "lastseat_mail_send_seconds",
			Help:    "Duration of handing one mail to the mail server.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}),
		away: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_mail_server_away",
			Help: "1 if this worker's last attempt to send a mail did not reach the mail server, else 0.",
		}),
		pending: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_mails_pending",
			Help: "Mails that wait to be sent in the whole outbox: every worker reports the same, so use max and not sum.",
		}),
		replaced: f.NewCounter(prometheus.CounterOpts{
			Name: "lastseat_mail_tasks_replaced_total",
			Help: "Tasks of mails that the queue had lost, so that this worker put others in their place.",
		}),
		overdue: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_mails_overdue",
			Help: "Mails of the whole outbox that have waited for more than an hour: every worker reports the same, so use max and not sum.",
		}),
		oldest: f.NewGauge(prometheus.GaugeOpts{
			Name: "lastseat_oldest_pending_mail_seconds",
			Help: "Since when the oldest mail of the whole outbox has been due, 0 = none waits: every worker reports the same, so use max and not sum.",
		}),
	}
}
