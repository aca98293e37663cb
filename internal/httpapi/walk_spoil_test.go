package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/testwait"
)

var (
	method = rapid.OneOf(rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "BREW", "PROPFIND"}), rapid.StringMatching(`[A-Z!#$%&'*+.^_|~-]{1,10}`))

	// nasty is text that parsers stumble over.
	nasty = rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "null", "-1", "0", "01", "+1", "1e3", "9223372036854775807", "9223372036854775808", "\x00", "\xff", "\xed\xa0\x80", "\u202e", "\ufeff", "'", `"`, "%", "%zz", "%00", "../..", "<script>", "{{.}}", "${x}", ";", "*", "\r\nX: y"}),
		rapid.String(),
		rapid.StringOfN(rapid.Rune(), 190, 300, -1),
	)

	// value can stand in a header: visible characters, blanks, and what is not
	// ASCII.
	headerValue = rapid.OneOf(rapid.StringMatching(`[ -~\t]{0,80}`), rapid.StringMatching(`[ -~]{250,300}`), rapid.Map(rapid.SliceOfN(rapid.ByteRange(0x80, 0xff), 0, 20), func(b []byte) string { return string(b) }))

	headers = map[string][]string{
		"Content-Type":           {"", "text/plain", "application/json; charset=utf-16", "application/json; charset=utf-8; charset=utf-8", "application/problem+json", "multipart/form-data", "application/json;"},
		"Content-Encoding":       {"gzip", "br", "identity"},
		"Authorization":          {"", "Bearer", "Bearer ", "bearer " + organiserToken, bearer + " ", bearer + "x", "Basic " + organiserToken, organiserToken, "Bearer  " + organiserToken},
		"Idempotency-Key":        {"", `""`, `"`, `\`, "k-1", strings.Repeat("k", 256), `"` + strings.Repeat(`\"`, 255) + `"`, "·cancel 1"},
		"X-Request-Id":           {"", "a b", `","x":"`, strings.Repeat("x", 65), strings.Repeat("x", 64)},
		"If-None-Match":          {"*", "", `W/`, `"`, ",,,", strings.Repeat(`W/"0123456789abcdef",`, 200)},
		"Accept":                 {"text/csv", "text/*", "*/*;q=0", "text/csv;q=0", "application/xml", ",", ";", "text/csv, application/json", strings.Repeat("a/b,", 1000)},
		"Range":                  {"bytes=0-0", "bytes=-1", "x"},
		"If-Modified-Since":      {"x", "Mon, 02 Jan 2006 15:04:05 GMT"},
		"X-Forwarded-For":        {"1.2.3.4, 5.6.7.8", "x", "::1"},
		"X-Http-Method-Override": {"DELETE"},
		"Upgrade":                {"websocket", "h2c"},
		"Connection":             {"close", "upgrade", "keep-alive, x"},
		"Origin":                 {"null", "http://evil.example"},
		"Cookie":                 {"a=b; c"},
		"Expect":                 {"100-continue"},
		"Te":                     {"trailers"},
	}
)

// spoil makes one thing wrong about a request, or odd.
func (h *world) spoil(r request) request {
	r.bad = true
	kinds := []string{"header", "query", "path", "method", "body"}
	if r.members != nil {
		kinds = append(kinds, "body", "body", "body", "body", "body", "body")
	}
	switch rapid.SampledFrom(kinds).Draw(h.t, "spoilt is the") {
	case "header":
		name := rapid.SampledFrom(sortedKeys(headers)).Draw(h.t, "header")
		value := rapid.OneOf(rapid.SampledFrom(headers[name]), headerValue).Draw(h.t, "value")
		if name == "Expect" || name == "Upgrade" || name == "Connection" { // is between client and server, and not any text
			value = rapid.SampledFrom(headers[name]).Draw(h.t, "value")
		}
		r.header[name] = []string{value}
		if h.chance("twice", 5) {
			r.header[name] = []string{value, value}
		}
	case "query":
		name := rapid.SampledFrom([]string{"wait", "ticket", "after", "format", "state", "course", "registration", "x"}).Draw(h.t, "parameter")
		path, query, _ := strings.Cut(r.path, "?")
		more := name + "=" + url.QueryEscape(nasty.Draw(h.t, "value"))
		if h.chance("raw", 4) {
			more = rapid.StringMatching(`[a-z=&;%+.~!$'()*,/:?@-]{1,30}`).Draw(h.t, "query")
		}
		r.path = path + "?" + strings.Join(slices.DeleteFunc([]string{more, query}, func(s string) bool { return s == "" }), "&")
	case "path":
		path, query, asks := strings.Cut(r.path, "?")
		at := rapid.IntRange(1, len(path)).Draw(h.t, "at")
		inside := rapid.SampledFrom([]string{"/", "//", "/.", "/../", "%2f", "%2F", "%00", "%ff", "%20", "%3f", "%23", "%25", "%2e%2e", "A", "z", "-", "~", ";x=y", ":", "@", "+", "%C3%A9", "*"}).Draw(h.t, "insert")
		if escape := strings.LastIndexByte(path[:at], '%'); escape >= 0 && at-escape < 3 {
			at = escape
		}
		r.path = path[:at] + inside + path[at:]
		if slashes := strings.Count(path, "/"); h.chance("a slash is written as a code", 4) && slashes > 1 {
			from := strings.LastIndexByte(path, '/')
			r.path = path[:from] + rapid.SampledFrom([]string{"%2f", "%2F", "%5c", `\`}).Draw(h.t, "as") + path[from+1:]
		} else if letter := path[at-1]; h.chance("a letter is written as a code", 4) && letter != '/' && letter != '%' {
			r.path = path[:at-1] + fmt.Sprintf("%%%02x", letter) + path[at:]
		}
		if asks {
			r.path += "?" + query
		}
	case "method":
		r.method = method.Draw(h.t, "method")
	case "body":
		r.body = h.spoiltBody(r)
		if h.chance("and called JSON", 2) {
			r.header.Set("Content-Type", "application/json")
		}
	}
	return r
}

func sortedKeys[V any](m map[string]V) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func (h *world) spoiltBody(r request) string {
	t := h.t
	others := rapid.SampledFrom([]string{"", " ", "{}", "[]", "null", "1", `""`, "true", "{", "\xef\xbb\xbf{}", "\x00", good + good, padded(maxBodyBytes), padded(maxBodyBytes + 1), padded(300 << 10), strings.Repeat("[", 4000), strings.Repeat(`{"name":`, 400), strings.Repeat("9", 4000)})
	if len(r.members) == 0 {
		return others.Draw(t, "body")
	}
	name := rapid.SampledFrom(sortedKeys(r.members)).Draw(t, "member")
	// with returns the body with the member's value, as it stands in JSON, and
	// without it if that is empty.
	with := func(value string) string {
		var parts []string
		for _, each := range sortedKeys(r.members) {
			text := strings.TrimSuffix(strings.TrimPrefix(written(map[string]any{each: r.members[each]}), "{"), "}")
			if each == name {
				text = fmt.Sprintf("%q:%s", each, value)
			}
			if each != name || value != "" {
				parts = append(parts, text)
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	switch rapid.SampledFrom([]string{"another", "truncated", "followed", "a byte", "twice", "unknown", "without", "another type", "another text", "raw text", "a length"}).Draw(t, "the body is") {
	case "truncated":
		return r.body[:rapid.IntRange(0, len(r.body)-1).Draw(t, "bytes")]
	case "followed":
		return r.body + rapid.SampledFrom([]string{"x", "{}", "\x00", " null", ",", "}", "\n\n"}).Draw(t, "by")
	case "a byte":
		at := rapid.IntRange(0, len(r.body)-1).Draw(t, "at")
		return r.body[:at] + string([]byte{rapid.Byte().Draw(t, "byte")}) + r.body[at+rapid.IntRange(0, 1).Draw(t, "instead of"):]
	case "twice":
		return "{" + fmt.Sprintf("%q:null,", name) + r.body[1:]
	case "unknown":
		other := rapid.SampledFrom([]string{"id", "ticket", "status", "run", "Name", "__proto__", "", "capacity ", "kind", "\\ud800"}).Draw(t, "member")
		return `{"` + other + `":1,` + r.body[1:]
	case "without":
		return with("")
	case "another type":
		return with(rapid.SampledFrom([]string{"null", "1", "-1", "0", "1.5", "1.0", "-0", "1e2", "1e400", "9223372036854775808", "1000001", "true", "false", "[]", "{}", `""`, `[1]`, `{"value":1}`, "01", "NaN", "+1"}).Draw(t, "value"))
	case "another text":
		return with(quoted(nasty.Draw(t, "text")))
	case "raw text":
		return with(`"` + rapid.SampledFrom([]string{`\ud800`, `\udc00\ud800`, `\u0000`, "\xff", "\xed\xa0\x80", "\n", "\x00", `\x41`, `\u00zz`, `\ud83d\ude00`, "\u2028", "\u202e"}).Draw(t, "text") + `"`)
	case "a length":
		n := rapid.SampledFrom([]int{1, 3, 64, 65, 199, 200, 201, 254, 255, 256, 1000, 4000}).Draw(t, "length")
		return with(quoted(strings.Repeat(rapid.SampledFrom([]string{"a", "é", "@", "a.", " "}).Draw(t, "of"), n)))
	}
	return others.Draw(t, "body")
}

func quoted(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(written(map[string]any{"": text}), `{"":`), "}")
}

// drawPath draws what is rarely an address.
func (h *world) drawPath(what string) string {
	return rapid.StringMatching(`(v1|runs|courses|links|registrations|line|mails|\.\.|%2e|%2F|[a-z0-9-]{0,4}|~|%[0-7][0-9a-f])(/(v1|runs|courses|links|registrations|line|mails|\.|%2e%2e|[a-z0-9-]{0,4})){0,5}`).Draw(h.t, what)
}

// sendBytes sends what a client of ours could not send.
func (h *world) sendBytes() {
	t := h.t
	line := fmt.Sprintf("%s %s HTTP/%s", method.Draw(t, "method"),
		rapid.SampledFrom([]string{"/v1/runs", "/", "*", "", "//", "http://x/v1/runs", "x:1", "/v1/runs/\xff", "/%", "/v1/runs?\x01", "/v1/runs#x", "/v1\\runs", "?", "/v1/" + strings.Repeat("a", 10_000)}).Draw(t, "target"),
		rapid.SampledFrom([]string{"1.1", "1.1", "1.1", "1.1", "1.0", "0.9", "2.0", "1.2", "9.9", "x"}).Draw(t, "version"))
	lines := append([]string{line}, rapid.SliceOfN(rapid.SampledFrom([]string{
		"Host: x", "Host: x", "Host: x", "Host: ", "Host: a b", "Content-Length: 0", "Content-Length: -1", "Content-Length: 5", "Content-Length: 99999999999999999999",
		"Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Expect: 100-continue", "Expect: x", "X-Request-ID: \x00", "X-Request-ID: a\x7f", ": x", "X", " folded", "X\xff: y",
		"Connection: close", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "X: " + strings.Repeat("y", 8000),
	}), 0, 6).Draw(t, "header")...)
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testwait.Limit))
	_, _ = io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n0\r\n\r\n") // it may have had enough before the end
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	for err == nil && response.StatusCode < 200 { // go on
		response, err = http.ReadResponse(reader, nil)
	}
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "connection reset") {
			t.Fatalf("%q is answered with %v", lines, err)
		}
		return // not even worth an answer
	}
	defer response.Body.Close()
	t.Logf("%q\n → %d %v", lines, response.StatusCode, response.Header)
	if id := response.Header.Get("X-Request-ID"); id == "" {
		// It has not come to us.
		if !slices.Contains([]int{400, 417, 431, 501, 505}, response.StatusCode) {
			t.Fatalf("%q is answered with %d %v", lines, response.StatusCode, response.Header)
		}
	} else if response.StatusCode >= 500 {
		t.Fatalf("%q is answered with %d %v", lines, response.StatusCode, response.Header)
	}
}
