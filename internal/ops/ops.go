// Package ops shows operators a process: its health, its metrics and the
// queues. It has a listener of its own, and must not know what the process is
// for.
package ops

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyTimeout bounds each check of /readyz.
const readyTimeout = 2 * time.Second

// Check checks one dependency that a process needs for its work.
type Check struct {
	Name string
	Ask  func(context.Context) error // returns nil if the dependency is available
}

// Admin is the handler of a process's admin listener.
type Admin struct {
	mux      *http.ServeMux
	stopping atomic.Bool
}

// NewRegistry returns a registry with the metrics of the Go runtime and of the
// process.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// NewAdmin returns a handler with
//
//	/livez    200 as long as the process answers
//	/readyz   200 if every check passes and the process is not stopping, else 503
//	/metrics  the registry, for Prometheus
func NewAdmin(reg *prometheus.Registry, log *slog.Logger, checks ...Check) *Admin {
	a := &Admin{mux: http.NewServeMux()}
	a.mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, "alive\n")
	})
	a.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if a.stopping.Load() {
			writeText(w, http.StatusServiceUnavailable, "stopping\n")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		for _, c := range checks {
			if err := c.Ask(ctx); err != nil {
				log.Warn("not ready", "check", c.Name, "error", err)
				writeText(w, http.StatusServiceUnavailable, c.Name+": not available\n")
				return
			}
		}
		writeText(w, http.StatusOK, "ready\n")
	})
	a.mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	return a
}

// Stopping makes /readyz answer 503, so that load balancers send no more
// requests.
func (a *Admin) Stopping() { a.stopping.Store(true) }

func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	a.mux.ServeHTTP(w, r)
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
