package mailsink_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/smtp"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/mailsink"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) { testwait.Main(m) }

// server is a sink on two free ports, until the test ends.
type server struct {
	*mailsink.Sink
	t    *testing.T
	smtp string // host and port
	page string // URL without the last slash
	stop func() // returns when Serve has returned, and fails the test if Serve failed
}

func start(t *testing.T) *server {
	t.Helper()
	s := &server{Sink: mailsink.New(), t: t}
	mail, page := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	s.smtp, s.page = mail.Addr().String(), "http://"+page.Addr().String()
	s.stop = serve(t, s.Sink, mail, page)
	return s
}

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serve(t *testing.T, sink *mailsink.Sink, mail, page net.Listener) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- sink.Serve(ctx, mail, page) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := testwait.Receive(t, "it stops", stopped); err != nil {
			t.Errorf("a clean stop returned: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// send sends a message as an ordinary client does.
func (s *server) send(message string, to ...string) error {
	if len(to) == 0 {
		to = []string{"ada@example.org"}
	}
	return smtp.SendMail(s.smtp, nil, "courses@example.com", to, crlf(message))
}

// receive sends a message and returns it as the sink kept it.
func (s *server) receive(message string) mailsink.Message {
	s.t.Helper()
	if err := s.send(message); err != nil {
		s.t.Fatal(err)
	}
	kept := s.Messages()
	return kept[len(kept)-1]
}

// await waits until n messages are kept.
func (s *server) await(n int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), testwait.Limit)
	defer cancel()
	if !s.Await(ctx, func(m []mailsink.Message) bool { return len(m) == n }) {
		s.t.Fatalf("there are %d messages, not %d", len(s.Messages()), n)
	}
}

// do makes a request and returns the answer with all of its body.
func (s *server) do(method, path string, header ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.page+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	r.Close = true // an idle connection is a goroutine that goleak finds
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, string(body)
}

// get returns a page that must exist.
func (s *server) get(path string) string {
	s.t.Helper()
	answer, body := s.do(http.MethodGet, path)
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %s: %s", path, answer.Status, body)
	}
	return body
}

func crlf(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }
