package httpserver_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/httpserver"
	"github.com/lastseat/lastseat/internal/testwait"
)

// served is a server that holds requests to /held until the test releases them.
type served struct {
	t       *testing.T
	addr    string
	held    atomic.Int64
	refused atomic.Int64
	release chan struct{}
	stop    context.CancelFunc
	ended   chan error
}

func serve(t *testing.T, o httpserver.Options) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, addr: l.Addr().String(), release: make(chan struct{}), ended: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/held", func(w http.ResponseWriter, r *http.Request) {
		s.held.Add(1)
		defer s.held.Add(-1)
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") })
	o.Refused = func() { s.refused.Add(1) }
	if o.Grace == 0 {
		o.Grace = 20 * time.Second
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.ended <- httpserver.Serve(ctx, l, server, o)
	}()
	t.Cleanup(func() { s.stop(); <-ended })
	return s
}

// dial opens a connection and sends the text on it.
func (s *served) dial(text string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// answer reads the next answer. It returns nil if none comes.
func answer(c net.Conn) *http.Response {
	_ = c.SetReadDeadline(time.Now().Add(testwait.Limit))
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, a.Body)
	_ = a.Body.Close()
	return a
}

const (
	short = "GET / HTTP/1.1\r\nHost: api\r\n\r\n"
	long  = "GET /held HTTP/1.1\r\nHost: api\r\n\r\n"
)

func TestServe_refuses_connections_beyond_its_bound(t *testing.T) {
	t.Parallel()
	s := serve(t, httpserver.Options{Connections: 3})
	var held []net.Conn
	for range 3 {
		held = append(held, s.dial(long))
	}
	testwait.Until(t, "three requests are held", func() bool { return s.held.Load() == 3 })
	for range 5 {
		a := answer(s.dial(short))
		if a == nil || a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !a.Close {
			t.Fatalf("the answer beyond the bound is %+v", a)
		}
	}
	if n := s.refused.Load(); n != 5 {
		t.Errorf("%d connections count as refused", n)
	}
	close(s.release)
	for _, c := range held {
		if a := answer(c); a == nil || a.StatusCode != http.StatusOK {
			t.Errorf("one that was held got %+v", a)
		}
	}
	// There is room again, whether or not those connections stay open.
	testwait.Until(t, "there is room again", func() bool {
		a := answer(s.dial(short))
		return a != nil && a.StatusCode == http.StatusOK
	})
}

func TestServe_replaces_silent_connections(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"new": "", "idle": short, "slow": "GET / HTTP/1.1\r\nHost: a"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, httpserver.Options{Connections: 4})
			held := s.dial(long)
			testwait.Until(t, "the request is held", func() bool { return s.held.Load() == 1 })
			for range 20 {
				s.dial(text)
			}
			for range 5 { // each replaces a silent connection
				var c net.Conn
				testwait.Until(t, "a request is answered", func() bool {
					c = s.dial(short)
					a := answer(c)
					return a != nil && a.StatusCode == http.StatusOK
				})
			}
			close(s.release) // the connection with a request was not replaced
			if a := answer(held); a == nil || a.StatusCode != http.StatusOK {
				t.Errorf("one that was held got %+v", a)
			}
		})
	}
}
