package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/testwait"
)

// TestDo reads answers as servers may write them.
func TestDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		status       int
		etag, body   string
		fails        string
	}{
		{name: "a body", answer: "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhello", status: 202, body: "hello"},
		{name: "names in any case", answer: "HTTP/1.1 200 OK\r\ncontent-LENGTH:2\r\netag: W/\"a:b\"\r\n\r\nok", status: 200, etag: `W/"a:b"`, body: "ok"},
		{name: "an empty body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: 200},
		{name: "nothing has changed", answer: "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", status: 304, etag: `"x"`},
		{name: "no reason", answer: "HTTP/1.1 204 \r\n\r\n", status: 204},
		{name: "a large body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + strings.Repeat("x", 10000), status: 200, body: strings.Repeat("x", 10000)},
		{name: "another protocol", answer: "SSH-2.0-x\r\n\r\n", fails: "begins with"},
		{name: "no number", answer: "HTTP/1.1 abc OK\r\n\r\n", fails: "begins with"},
		{name: "a length that is none", answer: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", fails: "has the length"},
		{name: "no length", answer: "HTTP/1.1 200 OK\r\n\r\nhello", fails: "how long"},
		{name: "chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", fails: "Transfer-Encoding"},
		{name: "the last answer", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", fails: "Connection"},
		{name: "half of a head", answer: "HTTP/1.1 200 OK\r\nContent-Le", fails: "EOF"},
		{name: "half of a body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", fails: "EOF"},
		{name: "a line without an end", answer: "HTTP/1.1 200 " + strings.Repeat("x", 5000), fails: "buffer full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			defer ours.Close()
			go func() {
				defer theirs.Close()
				_, _ = io.ReadFull(theirs, make([]byte, 4))
				_, _ = io.WriteString(theirs, c.answer)
			}()
			conn := newConn(ours)
			status, etag, body, err := conn.Do([]byte("GET "))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want an error with %q", err, c.fails)
				}
				return
			}
			if err != nil || status != c.status || string(etag) != c.etag || string(body) != c.body {
				t.Errorf("got %d, %q, %d bytes of body, %v", status, etag, len(body), err)
			}
		})
	}
}

// newServer counts requests, and answers each with its body.
func newServer(t *testing.T, delay time.Duration) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body) // without it nobody notices that the client has left
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
		}
		w.Header().Set("ETag", `"`+r.Header.Get("Idempotency-Key")+`"`)
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), asked
}

func requests(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = Post("/", fmt.Sprintf("key-%d", i), fmt.Sprintf(`{"n": %d}`, i))
	}
	return all
}

func newClient(t *testing.T, address string, conns int) *Client {
	t.Helper()
	c, err := Dial(t.Context(), address, conns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAsk(t *testing.T) {
	t.Parallel()
	address, asked := newServer(t, 0)
	client := newClient(t, address, 7)
	for range 2 { // the connections are good for another crowd
		answers, err := client.Ask(t.Context(), Job{Requests: requests(100), Each: func(i int, a Answer, etag, body []byte) error {
			if string(body) != fmt.Sprintf(`{"n": %d}`, i) || string(etag) != fmt.Sprintf(`"key-%d"`, i) || a.Status != http.StatusAccepted {
				return fmt.Errorf("got %d, %q, %q", a.Status, etag, body)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Sent.IsZero() || a.Took() <= 0 || a.Status != http.StatusAccepted {
				t.Errorf("request %d: %+v", i, a)
			}
		}
	}
	if n := asked.Load(); n != 200 {
		t.Errorf("%d requests arrived, want 200", n)
	}
}

func TestAskForAWhile(t *testing.T) {
	t.Parallel()
	address, asked := newServer(t, 20*time.Millisecond)
	answers, err := newClient(t, address, 2).Ask(t.Context(), Job{Requests: requests(10_000), For: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for _, a := range answers {
		if a.Received.IsZero() != a.Sent.IsZero() {
			t.Errorf("an answer that was begun is not whole: %+v", a)
		}
		if !a.Received.IsZero() {
			answered++
		}
	}
	if n := int(asked.Load()); answered != n || n == 0 || n > 20 {
		t.Errorf("%d requests arrived and %d were answered; want the same, and few", n, answered)
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	t.Parallel()
	address, asked := newServer(t, time.Hour)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	c := newClient(t, address, 3)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Ask(ctx, Job{Requests: requests(10)})
		ended <- err
	}()
	testwait.Until(t, "three requests are on their way", func() bool { return asked.Load() == 3 })
	cancel(why)
	if err := testwait.Receive(t, "asking ends", ended); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestAskEndsWithTheFirstFailure(t *testing.T) {
	t.Parallel()
	address, _ := newServer(t, 0)
	why := errors.New("not what was expected")
	_, err := newClient(t, address, 3).Ask(t.Context(), Job{Requests: requests(10_000), Each: func(i int, _ Answer, _, _ []byte) error {
		if i == 50 {
			return why
		}
		return nil
	}})
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "request 51") {
		t.Errorf("got %v", err)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"now"`)
		if r.Method == http.MethodGet && r.URL.RequestURI() == "/x?wait=1" && r.Header.Get("If-None-Match") == `"now"` {
			w.WriteHeader(http.StatusNotModified)
		}
	}))
	defer s.Close()
	conn := newClient(t, strings.TrimPrefix(s.URL, "http://"), 1).Conn(0)
	for etag, want := range map[string]int{"": 200, `"now"`: 304} {
		if status, tag, _, err := conn.Do(Get("/x?wait=1", etag)); err != nil || status != want || string(tag) != `"now"` {
			t.Errorf("with the tag %q: %d, %q, %v", etag, status, tag, err)
		}
	}
}

func TestDialTellsWhereNobodyListens(t *testing.T) {
	t.Parallel()
	if _, err := Dial(t.Context(), "127.0.0.1:1", 2); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}
