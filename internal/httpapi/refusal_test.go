package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestServer_refuses_what_is_not_HTTP(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	for _, test := range []struct {
		name, request string
		status        int
	}{
		{"a request without a host", "GET /v1/runs HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		{"a control character in a header", "GET /v1/runs HTTP/1.1\r\nHost: x\r\nX-Request-ID: a\x00b\r\n\r\n", http.StatusBadRequest},
		{"two lengths", "POST /v1/links HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", http.StatusBadRequest},
		{"an address that is none", "GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusBadRequest},
		{"something to expect", "POST /v1/links HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n", http.StatusExpectationFailed},
		{"headers of 32 KiB", "GET /v1/runs HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 32<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		{"a body in another encoding", "POST /v1/links HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", http.StatusNotImplemented},
		{"another version", "GET /v1/runs HTTP/3.1\r\nHost: x\r\n\r\n", http.StatusHTTPVersionNotSupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.raw(t, test.request, false)
			if a.StatusCode != test.status || a.Header.Get("X-Request-ID") != "" {
				t.Errorf("got status %d, want %d: %v", a.StatusCode, test.status, a.Header)
			}
		})
	}
	t.Run("and does not answer in our place otherwise", func(t *testing.T) {
		a := s.raw(t, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", false)
		if a.StatusCode != http.StatusNotFound || a.Header.Get("X-Request-ID") == "" {
			t.Errorf("got status %d, want 404 from the API: %v", a.StatusCode, a.Header)
		}
	})
}
