package ops_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/ops"
	"github.com/lastseat/lastseat/internal/redistest"
)

var quiet = slog.New(slog.DiscardHandler)

func get(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var failure error
	a := ops.NewAdmin(ops.NewRegistry(), quiet, ops.Check{Name: "postgres", Ask: func(context.Context) error { return failure }})
	if w := get(t, a, "GET", "/readyz"); w.Code != http.StatusOK {
		t.Errorf("ready: %d %s", w.Code, w.Body)
	}
	failure = errors.New("postgres://user:secret@host is away")
	if w := get(t, a, "GET", "/readyz"); w.Code != http.StatusServiceUnavailable || w.Body.String() != "postgres: not available\n" {
		t.Errorf("not ready: %d %s", w.Code, w.Body)
	}
	failure = nil
	a.Stopping()
	if w := get(t, a, "GET", "/readyz"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("stopping: %d %s", w.Code, w.Body)
	}
	if w := get(t, a, "GET", "/livez"); w.Code != http.StatusOK {
		t.Errorf("alive: %d %s", w.Code, w.Body)
	}
	if w := get(t, a, "GET", "/metrics"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "go_goroutines") {
		t.Errorf("metrics: %d", w.Code)
	}
}

func TestQueuesAreShownAndNotChanged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if _, err := asynq.NewClientFromRedisClient(server.Client()).Enqueue(asynq.NewTask("requests:settle", nil), asynq.Queue("run:go-1")); err != nil {
		t.Fatal(err)
	}
	a := ops.NewAdmin(ops.NewRegistry(), quiet)
	stop := a.ShowQueues(func() redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: server.Addr()}) })
	defer stop()
	if w := get(t, a, "GET", "/ops/queues"); w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("the page: %d", w.Code)
	}
	if w := get(t, a, "GET", "/ops/queues/api/queues"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"queue":"run:go-1"`) {
		t.Errorf("the list: %d %s", w.Code, w.Body)
	}
	for method, path := range map[string]string{"POST": "/ops/queues/api/queues/run:go-1:pause", "DELETE": "/ops/queues/api/queues/run:go-1"} {
		if w := get(t, a, method, path); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

func TestServeAdmin_answers_its_own_hosts_only(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- ops.ServeAdmin(ctx, l, ops.NewAdmin(ops.NewRegistry(), quiet), "api-1:0", []string{"metrics.example.org"})
	}()
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/ops/queues"} {
		for host, served := range map[string]bool{"": true, "localhost:8081": true, "api-1:8081": true, "metrics.example.org": true, "evil.example": false} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host // "" means the host of the address
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if (answer.StatusCode == http.StatusMisdirectedRequest) == served {
				t.Errorf("%s of %q: %s", path, host, answer.Status)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAskReady(t *testing.T) {
	t.Parallel()
	a := ops.NewAdmin(ops.NewRegistry(), quiet)
	server := httptest.NewServer(a)
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	if err := ops.AskReady(t.Context(), addr); err != nil {
		t.Error(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	if err := ops.AskReady(t.Context(), ":"+port); err != nil {
		t.Errorf("a listener on all addresses: %v", err)
	}
	a.Stopping()
	if err := ops.AskReady(t.Context(), addr); err == nil {
		t.Error("a stopping process counts as ready")
	}
}

func TestNewLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := ops.NewLogger(&out, "json", "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("no")
	log.Warn("yes")
	if got := out.String(); !strings.Contains(got, `"msg":"yes"`) || strings.Contains(got, "no\"") {
		t.Errorf("got %s", got)
	}
	if _, err := ops.NewLogger(&out, "json", "loud"); err == nil {
		t.Error("an unknown level was accepted")
	}
}
