package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

const good = `{"name":"Ada Lovelace","email":"ada@example.org"}`

// padded is a good body of so many bytes.
func padded(size int) string { return good + strings.Repeat(" ", size-len(good)) }

func TestBody(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)

	for name, test := range map[string]struct {
		body   string
		status int
		code   string
		field  string
	}{
		"nothing":                      {"", 400, "malformed", ""},
		"blanks":                       {" \n\t ", 400, "malformed", ""},
		"half of it":                   {good[:len(good)/2], 400, "malformed", ""},
		"no closing brace":             {good[:len(good)-1], 400, "malformed", ""},
		"single quotes":                {`{'name':'Ada'}`, 400, "malformed", ""},
		"a comma at the end":           {`{"name":"Ada","email":"ada@example.org",}`, 400, "malformed", ""},
		"a comment":                    {`{"name":"Ada"/*!*/,"email":"ada@example.org"}`, 400, "malformed", ""},
		"a form":                       {`name=Ada&email=ada%40example.org`, 400, "malformed", ""},
		"a byte order mark":            {"\ufeff" + good, 400, "malformed", ""},
		"UTF-16":                       {"{\x00\"\x00n\x00", 400, "malformed", ""},
		"a second value behind it":     {good + good, 400, "malformed", ""},
		"letters behind it":            {good + "x", 400, "malformed", ""},
		"a NUL behind it":              {good + "\x00", 400, "malformed", ""},
		"a list":                       {`[` + good + `]`, 400, "malformed", ""},
		"an empty list":                {`[]`, 400, "malformed", ""},
		"null":                         {` null `, 400, "malformed", ""},
		"a string":                     {`"Ada"`, 400, "malformed", ""},
		"a number":                     {`1`, 400, "malformed", ""},
		"true":                         {`true`, 400, "malformed", ""},
		"lists in lists":               {strings.Repeat("[", maxBodyBytes), 400, "malformed", ""},
		"objects in objects":           {strings.Repeat(`{"a":`, maxBodyBytes/5), 422, "invalid", "a"},
		"a field twice":                {`{"name":"Ada","name":"Eve","email":"ada@example.org"}`, 400, "malformed", "name"},
		"a field twice, once escaped":  {`{"name":"Ada","n\u0061me":"Eve","email":"ada@example.org"}`, 400, "malformed", "name"},
		"an unknown field":             {`{"name":"Ada","email":"ada@example.org","admin":true}`, 422, "invalid", "admin"},
		"an unknown field named a/~b":  {`{"a/~b":1,"name":"Ada","email":"ada@example.org"}`, 422, "invalid", "a/~b"},
		"a field without a name":       {`{"":1,"name":"Ada","email":"ada@example.org"}`, 422, "invalid", ""},
		"an unknown field of 2000":     {`{"` + strings.Repeat("é", 2000) + `":1}`, 422, "invalid", strings.Repeat("é", 64) + "…"},
		"NAME":                         {`{"NAME":"Ada","email":"ada@example.org"}`, 422, "invalid", "NAME"},
		"Email":                        {`{"name":"Ada","Email":"ada@example.org"}`, 422, "invalid", "Email"},
		"a field with a blank":         {`{"name ":"Ada","email":"ada@example.org"}`, 422, "invalid", "name "},
		"an id that they want to have": {`{"id":"4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e","name":"Ada","email":"ada@example.org"}`, 422, "invalid", "id"},
		"a number for a name":          {`{"name":1,"email":"ada@example.org"}`, 422, "invalid", "name"},
		"a number for an address":      {`{"name":"Ada","email":1e400}`, 422, "invalid", "email"},
		"a list for a name":            {`{"name":["Ada"],"email":"ada@example.org"}`, 422, "invalid", "name"},
		"an object for an address":     {`{"name":"Ada","email":{"address":"ada@example.org"}}`, 422, "invalid", "email"},
		"true for a name":              {`{"name":true,"email":"ada@example.org"}`, 422, "invalid", "name"},
		"null for a name":              {`{"name":null,"email":"ada@example.org"}`, 422, "invalid", "name"},
		"null for an address":          {`{"name":"Ada","email":null}`, 422, "invalid", "email"},
		"no fields":                    {`{}`, 422, "invalid", "name"},
		"no name":                      {`{"email":"ada@example.org"}`, 422, "invalid", "name"},
		"no address":                   {`{"name":"Ada"}`, 422, "invalid", "email"},
		"a lone surrogate":             {`{"name":"A\ud800","email":"ada@example.org"}`, 400, "malformed", "name"},
		"surrogates in wrong order":    {`{"name":"\ude00\ud83d","email":"ada@example.org"}`, 400, "malformed", "name"},
		"half a pair in an address":    {`{"name":"Ada","email":"ada\udc00@example.org"}`, 400, "malformed", "email"},
		"invalid UTF-8":                {"{\"name\":\"A\xff\",\"email\":\"ada@example.org\"}", 400, "malformed", "name"},
		"a surrogate in UTF-8":         {"{\"name\":\"A\xed\xa0\x80\",\"email\":\"ada@example.org\"}", 400, "malformed", "name"},
		"overlong UTF-8":               {"{\"name\":\"A\xc0\xaf\",\"email\":\"ada@example.org\"}", 400, "malformed", "name"},
		"invalid UTF-8 in a field":     {"{\"na\xffme\":1}", 400, "malformed", ""},
		"a raw line break in a name":   {"{\"name\":\"A\nB\",\"email\":\"ada@example.org\"}", 400, "malformed", "name"},
		"a raw NUL in a name":          {"{\"name\":\"A\x00\",\"email\":\"ada@example.org\"}", 400, "malformed", "name"},
		"an unknown escape":            {`{"name":"\x41","email":"ada@example.org"}`, 400, "malformed", "name"},
		"over the limit by one":        {padded(maxBodyBytes + 1), 413, "too_large", ""},
		"over the limit by much":       {padded(1 << 20), 413, "too_large", ""},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			c := s.asking("go-1", "", "")
			c.body, c.bad = test.body, true
			a := s.do(c)
			a.t = t
			a.expectProblem(test.status, test.code, test.field)
		})
	}
	if got := s.sql(`SELECT count(*)::text FROM requests`); got[0] != "0" {
		t.Errorf("%s of them were accepted", got[0])
	}
	t.Run("every fault is told at once", func(t *testing.T) {
		p := s.post("go-1", "\u200b", "ada").expectProblem(http.StatusUnprocessableEntity, "invalid", "name")
		if len(p.Errors) != 2 || p.Errors[1].Field != "email" {
			t.Errorf("got %+v", p.Errors)
		}
	})
	t.Run("of exactly the limit is accepted", func(t *testing.T) {
		c := s.asking("go-1", "", "")
		c.body = padded(maxBodyBytes)
		s.do(c).expect(http.StatusAccepted)
	})
	t.Run("without its end is refused", func(t *testing.T) {
		a := s.raw(t, "POST /v1/runs/go-1/registrations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"+good, true)
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("got status %d", a.StatusCode)
		}
	})
	t.Run("in chunks is read like any other", func(t *testing.T) {
		a := s.raw(t, fmt.Sprintf("POST /v1/runs/go-1/registrations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(good), good), false)
		if a.StatusCode != http.StatusAccepted {
			t.Errorf("got status %d", a.StatusCode)
		}
	})
}

func TestBody_must_say_that_it_is_JSON(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	for header, status := range map[string]int{
		"application/json":                   http.StatusAccepted,
		"application/json; charset=utf-8":    http.StatusAccepted,
		"APPLICATION/JSON;charset=\"UTF-8\"": http.StatusAccepted,
		"":                                   http.StatusUnsupportedMediaType,
		"text/plain":                         http.StatusUnsupportedMediaType,
		"text/json":                          http.StatusUnsupportedMediaType,
		"application/x-www-form-urlencoded":  http.StatusUnsupportedMediaType,
		"application/problem+json":           http.StatusUnsupportedMediaType,
		"application/json, text/plain":       http.StatusUnsupportedMediaType,
		"application/jsonp":                  http.StatusUnsupportedMediaType,
		"application":                        http.StatusUnsupportedMediaType,
		"*/*":                                http.StatusUnsupportedMediaType,
		";":                                  http.StatusUnsupportedMediaType,
	} {
		c := s.asking("go-1", "Ada Lovelace", "ada@example.org", "Content-Type", header)
		c.header["Content-Type"] = []string{header}
		c.bad = status != http.StatusAccepted
		a := s.do(c)
		if a.expect(status); status != http.StatusAccepted {
			a.expectProblem(status, "unsupported_media_type", "")
		}
	}
	c := s.asking("go-1", "Ada Lovelace", "ada@example.org")
	delete(c.header, "Content-Type")
	c.bad = true
	s.do(c).expectProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
}

// raw sends bytes as they are and returns the answer with its body read. With
// end, it says that nothing follows, which to a server is a client that left.
func (s *service) raw(t *testing.T, request string, end bool) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if end {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, a.Body) // only the status matters
	return a
}

// TestBody_names_the_type_that_a_field_must_have: required and optional ones.
func TestBody_names_the_type_that_a_field_must_have(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	for _, test := range []struct{ field, value, want string }{
		{"name", `1`, "must be a string"},
		{"language", `["de"]`, "must be a string"},
		{"language", `null`, "must not be null"},
		{"notify", `"yes"`, "must be true or false"},
		{"waitlist", `0`, "must be true or false"},
		{"max_waitlist_position", `"3"`, "must be a whole number in the allowed range"},
		{"max_waitlist_position", `1.5`, "must be a whole number in the allowed range"},
	} {
		c := s.asking("go-1", "", "")
		c.body, c.bad = fmt.Sprintf(`{%q: %s}`, test.field, test.value), true
		p := s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", test.field)
		if len(p.Errors) != 1 || p.Errors[0].Code != "type" || p.Errors[0].Detail != test.want {
			t.Errorf("%s: got %+v, want %q", c.body, p.Errors, test.want)
		}
	}
}
