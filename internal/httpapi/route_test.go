package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	r := s.register("go-1", ada, adaEmail)
	reads := map[string]string{ // path → Allow
		"/v1/courses":                        "GET HEAD POST",
		"/v1/courses/course":                 "GET HEAD",
		"/v1/runs":                           "GET HEAD",
		"/v1/runs/go-1":                      "DELETE GET HEAD PATCH",
		"/v1/registrations/" + r.ID.String(): "DELETE GET HEAD",
	}

	t.Run("that do not exist are 404", func(t *testing.T) {
		for _, path := range []string{
			"/", "/v1", "/v1/", "/v2/runs", "/v1/run", "/v1/runs/", "/v1/runs/go-1/", "/v1/RUNS", "//v1/runs", "/v1//runs",
			"/v1/runs/go-1/registrations/", "/v1/registrations", "/v1/../v1/runs", "/favicon.ico", "/metrics", "/debug/pprof/",
			"/v1%2Fruns", "/v1/runs%2fgo-1", "/v1/runs/go-1%2Fregistrations", "/v1/registrations/" + r.ID.String() + "%2fcalendar.ics",
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead, http.MethodOptions} {
				a := s.do(call{method: method, path: path, bad: true})
				if a.expect(http.StatusNotFound); method != http.MethodHead {
					a.expectProblem(http.StatusNotFound, "not_found", "")
				}
			}
		}
	})
	t.Run("refuse methods that they do not take, and say which they do", func(t *testing.T) {
		all := map[string]string{
			"/v1/runs/go-1/registrations":   "POST",
			"/v1/runs/go-1/registrations/1": "DELETE PATCH",
			"/v1/runs/go-1/close-waitlist":  "POST",
			"/v1/runs/go-1/call-off":        "POST",
			"/v1/runs/go-1/line":            "GET HEAD",
		}
		for path, allow := range reads {
			all[path] = allow
		}
		for path, allow := range all {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
				if slices.Contains(strings.Fields(allow), method) {
					continue
				}
				a := s.do(call{method: method, path: path, bad: true})
				if a.expect(http.StatusMethodNotAllowed); method != http.MethodHead {
					a.expectProblem(http.StatusMethodNotAllowed, "method_not_allowed", "")
				}
				got := strings.Split(a.header.Get("Allow"), ", ")
				slices.Sort(got)
				if strings.Join(got, " ") != allow {
					t.Errorf("%s %s: Allow is %v, want %s", method, path, got, allow)
				}
			}
		}
	})
	t.Run("answer HEAD as GET without a body", func(t *testing.T) {
		for path := range reads {
			get, head := s.get(path), s.do(call{method: http.MethodHead, path: path})
			head.expect(http.StatusOK)
			if len(head.body) > 0 || head.header.Get("Content-Type") != get.header.Get("Content-Type") || head.header.Get("ETag") != get.header.Get("ETag") {
				t.Errorf("HEAD %s: %v %q", path, head.header, head.body)
			}
		}
	})
}

func TestRoutes_of_an_unknown_run_accept_nobody(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	for _, run := range []string{"go-2", "GO-1", "go-1%20", "%00", "%ff", "go--1", "-", strings.Repeat("a", 65), "go-1%2f"} {
		c := s.asking(run, ada, adaEmail)
		c.bad = true
		s.do(c).expectProblem(http.StatusNotFound, "not_found", "")
	}
	if got := s.sql(`SELECT count(*)::text FROM requests`); got[0] != "0" {
		t.Errorf("%s were accepted", got[0])
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	for _, test := range []struct {
		given []string
		keeps bool
	}{
		{nil, false},
		{[]string{"checkout-7f3a"}, true},
		{[]string{"A.b_c-9"}, true},
		{[]string{strings.Repeat("x", 64)}, true},
		{[]string{strings.Repeat("x", 65)}, false},
		{[]string{""}, false},
		{[]string{"a b"}, false},
		{[]string{`a","level":"ERROR`}, false},
		{[]string{"ada@example.org"}, false},
		{[]string{"é"}, false},
		{[]string{"a\tb"}, false},
	} {
		for path, status := range map[string]int{"/v1/courses": http.StatusOK, "/v1/courses/x": http.StatusNotFound, "/x": http.StatusNotFound} {
			a := s.do(call{method: http.MethodGet, path: path, header: http.Header{"X-Request-Id": test.given}, bad: true})
			a.expect(status)
			id := a.header.Get("X-Request-ID")
			switch {
			case test.keeps && id != test.given[0]:
				t.Errorf("%q became %q", test.given, id)
			case !test.keeps && (len(id) != 36 || len(test.given) > 0 && id == test.given[0]):
				t.Errorf("%q became %q, want a new one", test.given, id)
			}
			if !strings.Contains(s.log.String(), `"request_id":"`+id+`"`) {
				t.Errorf("the log does not know the request %s", id)
			}
		}
	}
}
