package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/httpserver"
)

// NewLogger returns a logger that writes lines in the format (json or text),
// from the level (debug, info, warn or error) upwards.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var from slog.Level
	if err := from.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("making the log: %w", err)
	}
	o := &slog.HandlerOptions{Level: from}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, o)), nil
	}
	return slog.New(slog.NewJSONHandler(w, o)), nil
}

// AdminConnections is the most connections to an admin listener at once.
const AdminConnections = 64

// ServeAdmin serves an admin listener until ctx ends. It answers requests whose
// Host is an IP address, localhost, the host of the configured address, or one
// of the names. A second after ctx ends, it cuts off requests in flight, which
// only read.
func ServeAdmin(ctx context.Context, l net.Listener, a *Admin, configured string, names []string) error {
	host, _, err := net.SplitHostPort(configured)
	if err != nil {
		return fmt.Errorf("parsing the address of the admin listener: %w", err)
	}
	err = httpserver.Serve(ctx, l, &http.Server{
		Handler:           httpserver.OnlyHosts(a, append([]string{host}, names...)...),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}, httpserver.Options{Connections: AdminConnections, Grace: time.Second})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// AskReady returns nil if the process with the admin listener at addr is ready.
func AskReady(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("asking whether it is ready: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("asking whether it is ready: %w", err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("asking whether it is ready: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200)) // a part of it will do
		return fmt.Errorf("it is not ready: %s", text)
	}
	return nil
}

// gcPercent is how much the heap may grow between two garbage collections, in
// percent of the live heap. The live heap is small and garbage is plenty: at
// Go's default of 100, collecting took an eighth of an API's CPU in a rush.
const gcPercent = 400

// SpareCollector makes the garbage collector run less often, unless GOGC is
// set.
func SpareCollector(environ []string) {
	if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) {
		debug.SetGCPercent(gcPercent)
	}
}
