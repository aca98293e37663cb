package mailsink

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// FuzzLinks checks that no text between links is lost, and that all links lead to
// the web.
func FuzzLinks(f *testing.F) {
	for _, seed := range []string{"", "x", "http://a", "see https://a.example/b?c=d, and (http://e).", "javascript:alert(1)", "http://", "https://a\"b<c", "httphttp://a", "http://\xff", "http://a\nhttps://b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var all strings.Builder
		for _, p := range links(text) {
			all.WriteString(p.Text)
			if p.URL != "" && (p.URL != p.Text || strings.ContainsAny(p.URL, " \n<>\"") || !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://")) {
				t.Errorf("%q has the link %+v", text, p)
			}
		}
		if all.String() != text {
			t.Errorf("%q became %q", text, all.String())
		}
	})
}

// FuzzPage checks that the page answers every request for every message, and that
// no part of the message becomes markup on it.
func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		"Subject: <script>alert(1)</script>\n\n<script>alert(1)</script> http://a.example", "Subject: x\nFrom: \"<b>\" <a@b>\nContent-Type: text/html\n\n<!doctype html><script>",
		"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Disposition: attachment; filename=\"<script>.ics\"\n\nx\n--b--\n", "", "\xff",
	} {
		for _, path := range []string{"/messages/1", "/messages/1?view=text", "/messages/1?view=headers", "/messages/1/html", "/messages/1/raw", "/messages/1/attachments/1", "/api/messages/1", "/events?after=x", "/messages/-1", "/"} {
			f.Add(crlf(seed), path)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, path string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
		if err != nil {
			return
		}
		s := New()
		s.keep("a@example.org", []string{"b@example.org"}, raw)
		w := httptest.NewRecorder()
		guard(s.routes()).ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("GET %s is answered with %d", path, w.Code)
		}
		own := strings.Count(w.Body.String(), `<script src="/static/`)
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && !strings.HasSuffix(r.URL.Path, "/html") && strings.Count(strings.ToLower(w.Body.String()), "<script") != own {
			t.Errorf("GET %s has a script in it:\n%s", path, w.Body)
		}
	})
}

// FuzzEventNumber checks that only ids of this sink name a position in its stream.
func FuzzEventNumber(f *testing.F) {
	s := &Sink{epoch: "EPOCH"}
	for _, seed := range []string{"", "0", s.eventID(0), s.eventID(7), s.eventID(-1), s.eventID(7) + "x", s.epoch, s.epoch + ".", s.epoch + ".+7", s.epoch + ".07", "." + s.epoch} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		n, ok := s.eventNumber(id)
		if ok && (n < 0 || !strings.HasPrefix(id, s.epoch+".") || !strings.HasSuffix(id, strconv.Itoa(n))) {
			t.Errorf("%q names %d", id, n)
		}
	})
}
