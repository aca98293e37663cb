package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lastseat/lastseat/internal/httpserver"
)

func TestOnlyHosts(t *testing.T) {
	t.Parallel()
	h := httpserver.OnlyHosts(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "metrics.example.org")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:1": 200, "LocalHost:8025": 200, "localhost.:80": 200,
		"127.0.0.1:8025": 200, "[::1]:8025": 200, "[::1]": 200, "10.0.0.1": 200, "203.0.113.7:8081": 200,
		"metrics.example.org": 200, "METRICS.example.org:8081": 200, "": 200,
		"evil.example": 421, "evil.example:8081": 421, "localhost.evil.example:8025": 421, "127.0.0.1.evil.example": 421,
		"metrics.example.org.evil.example": 421, "evil.metrics.example.org": 421, "example.org": 421,
		"0x7f.1": 421, "localhost:80:80": 421, "127.0.0.1@evil.example": 421, "localhost:@evil.example": 421,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}
