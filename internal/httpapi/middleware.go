package httpapi

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/lastseat/lastseat/internal/enroll"
)

// What handlers leave for the log line.
const (
	requestIDKey = "request_id"
	errorKey     = "error"
	callerKey    = "caller"
	currentKey   = "current" // settings, for the problem of a change made from older ones
	runKey       = "run"
	ticketKey    = "ticket"
	cutKey       = "cut" // the answer broke off after it had begun
)

type metrics struct{ duration *prometheus.HistogramVec }

func newMetrics(reg prometheus.Registerer) metrics {
	return metrics{promauto.With(reg).NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lastseat_http_request_seconds",
		Help:    "Duration of HTTP requests, by route and status. Requests with ?wait= are held on purpose.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
	}, []string{"method", "route", "status"})}
}

// observe gives the request an id, measures it and logs it by its route: the
// path can hold a credential.
func (a *api) observe(m metrics) gin.HandlerFunc {
	return func(c *gin.Context) {
		id := c.GetHeader("X-Request-Id")
		if !safeID(id) {
			id = uuid.NewString()
		}
		c.Set(requestIDKey, id)
		c.Header("X-Request-Id", id) // as the library writes it, which costs nothing then
		c.Header("X-Content-Type-Options", "nosniff")
		start := time.Now()
		c.Next()
		took := time.Since(start)

		route, status := c.FullPath(), c.Writer.Status()
		method := c.Request.Method
		if route == "" {
			route, method = "none", "any" // whatever the client made up
		}
		m.duration.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
		a.logRequest(c, slog.String("request_id", id), slog.String("method", method), slog.String("route", route), slog.Duration("took", took))
		if c.GetBool(cutKey) {
			cut(c.Writer)
		}
	}
}

// logRequest writes the line about a request, if anybody wants it.
func (a *api) logRequest(c *gin.Context, attrs ...slog.Attr) {
	ctx, status := c.Request.Context(), c.Writer.Status()
	level := slog.LevelInfo
	err, failed := c.Value(errorKey).(error)
	left := ctx.Err() != nil || errors.Is(err, errLeft) // the client went away, which is no trouble of ours
	switch {
	case !failed || left:
	case c.GetBool(cutKey), status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable:
		level = slog.LevelError
	case status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	}
	if !a.log.Enabled(ctx, level) {
		return
	}
	attrs = append(attrs, slog.Int("status", status), slog.Int("bytes", max(c.Writer.Size(), 0)))
	if caller := callerOf(c); !caller.Anonymous() {
		attrs = append(attrs, slog.Int("account", int(caller.Account)), slog.Int("token", int(caller.Token.ID)))
	}
	if run := c.GetString(runKey); run != "" {
		attrs = append(attrs, slog.String("run", run))
	}
	if ticket := c.GetInt64(ticketKey); ticket != 0 {
		attrs = append(attrs, slog.Int64("ticket", ticket))
	}
	if failed {
		attrs = append(attrs, slog.String("code", string(enroll.CodeOf(err))))
	}
	if level > slog.LevelInfo {
		attrs = append(attrs, slog.Any("error", err))
	}
	a.log.LogAttrs(ctx, level, "request", attrs...)
}

// errLeft is in an error that says that the client does not take the answer.
var errLeft = errors.New("the client has left")

// cut breaks the connection off with a reset, which everybody takes for an
// error. To HTTP/1.0, which many proxies speak, a connection that is only closed
// is the good end of an answer.
func cut(w gin.ResponseWriter) {
	if inner, is := w.(interface{ Unwrap() http.ResponseWriter }); is {
		if conn, _, err := http.NewResponseController(inner.Unwrap()).Hijack(); err == nil {
			if tcp, is := conn.(*net.TCPConn); is {
				_ = tcp.SetLinger(0) // it is closed in any case
			}
			_ = conn.Close() // there is nobody to tell
			return
		}
	}
	panic(http.ErrAbortHandler) // what the server knows how to break off
}

// safeID tells whether a client's request id may stand in a log.
func safeID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, b := range []byte(s) {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && b != '-' && b != '_' && b != '.' {
			return false
		}
	}
	return true
}

// noSlashInNames refuses a path with a slash that is written as %2F: it is part
// of a name there (RFC 3986, 2.2), which no name of ours has. Routes are found by
// the path without codes, in which it would part two names.
func noSlashInNames(c *gin.Context) error {
	if strings.Contains(strings.ToUpper(c.Request.URL.EscapedPath()), "%2F") {
		c.Writer.Header().Del("Allow") // the router may have found an address with other methods
		return errNoRoute
	}
	return nil
}

// recover turns a panic into a 500. Gin's own recovery prints the request, and
// with it credentials.
func (a *api) recover(c *gin.Context) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error("a handler panicked", "request_id", c.GetString(requestIDKey), "route", c.FullPath(), "panic", v, "stack", string(debug.Stack()))
			a.problem(c, enroll.Errorf(enroll.Internal, "the server met an unexpected error"))
		}
	}()
	c.Next()
}
