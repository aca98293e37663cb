package mailsink_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestOurPagesMayUseNothingButOurFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive(letter)
	for _, path := range []string{"/", "/messages/1", "/messages/2", "/messages/1/raw", "/messages/1/attachments/1", "/static/sink.js", "/api/messages", "/nowhere"} {
		answer, body := s.do(http.MethodGet, path)
		policy := answer.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s", path, want)
			}
		}
		if answer.Header.Get("X-Content-Type-Options") != "nosniff" || answer.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, answer.Header)
		}
		if strings.Contains(body, "unsafe-inline") || strings.Contains(body, " style=") {
			t.Errorf("%s needs more than its policy allows", path)
		}
	}
	for path, kind := range map[string]string{"/static/sink.js": "text/javascript; charset=utf-8", "/static/sink.css": "text/css; charset=utf-8"} {
		if answer, _ := s.do(http.MethodGet, path); answer.Header.Get("Content-Type") != kind {
			t.Errorf("%s is %s", path, answer.Header.Get("Content-Type"))
		}
	}
}

func TestOnlyThisMachineByItsOwnNameIsServed(t *testing.T) {
	t.Parallel()
	s := start(t)
	for host, want := range map[string]int{
		"localhost:8025": 200, "127.0.0.1:8025": 200, strings.TrimPrefix(s.page, "http://"): 200,
		"evil.example": 421, "localhost.evil.example:8025": 421,
	} {
		if answer, _ := s.do(http.MethodGet, "/", "Host", host); answer.StatusCode != want {
			t.Errorf("%s: %s", host, answer.Status)
		}
	}
}

func TestAnotherSiteCannotClear(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.receive(letter)
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		path := map[string]string{http.MethodPost: "/clear", http.MethodDelete: "/api/messages"}[method]
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
			if answer, _ := s.do(method, path, header...); answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s with %s: %s", method, path, header, answer.Status)
			}
		}
	}
	if len(s.Messages()) != 1 {
		t.Error("the message is gone")
	}
	if answer, _ := s.do(http.MethodGet, "/clear"); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET /clear: %s", answer.Status)
	}
}
