package systemtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// dial connects to the api.
func (p *process) dial() net.Conn {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.API)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	return conn
}

// request returns the bytes of a request for a seat.
func request(key string, n int) (header, body string) {
	body = fmt.Sprintf(`{"name": "Person %d", "email": "p%d@example.org"}`, n, n)
	header = fmt.Sprintf("POST /v1/runs/a/registrations HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n", key, len(body))
	return header, body
}

// speed has 30 people ask one after the other, and returns the longest wait.
func (s *site) speed(api *process, from int) (longest time.Duration) {
	s.t.Helper()
	for n := range 30 {
		began := time.Now()
		var answer told
		if err := s.ask(api, "a", from+n, &answer); err != nil {
			s.t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
	}
	return longest
}

// untilClosed reads from the connection until the server closes it, and returns
// how long that took.
func untilClosed(t *testing.T, conn net.Conn, began time.Time) time.Duration {
	_ = conn.SetReadDeadline(began.Add(testwait.Limit))
	_, err := io.Copy(io.Discard, conn)
	if timeout, is := err.(net.Error); is && timeout.Timeout() { //nolint:errorlint // the connection does not wrap it
		t.Error("the server keeps the connection of a slow client")
	}
	return time.Since(began)
}

// TestTimingSlowClients checks that slow clients delay no other client, and are
// closed in time.
func TestTimingSlowClients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	store := pgtest.Open(t, s.url)
	enrolltest.OpenRun(t, store, "a", nil)
	for n := range 200 { // so that the catalogue does not fit into what the kernel keeps for a connection
		enrolltest.OpenRun(t, store, fmt.Sprintf("other-%d", n), nil)
	}
	api := s.start("api", "LASTSEAT_API_READ_HEADER_TIMEOUT=1s", "LASTSEAT_API_READ_TIMEOUT=2s", "LASTSEAT_API_MAX_WAIT=0s",
		"LASTSEAT_POSTGRES_LOCK_TIMEOUT=500ms", "LASTSEAT_INTAKE_COMMIT_TIMEOUT=2s")
	const writeTimeout = 14 * time.Second // max_wait, twice commit_timeout, and ten seconds
	s.speed(api, 0)
	before := api.metric("go_goroutines")

	header, body := request("slow", 1000)
	var slow sync.WaitGroup
	trickle := func(text string, within time.Duration) {
		conn := api.dial()
		began := time.Now()
		slow.Go(func() {
			for _, b := range []byte(text) {
				if _, err := conn.Write([]byte{b}); err != nil {
					break
				}
				time.Sleep(250 * time.Millisecond) //nolint:forbidigo // so slow is the client
			}
		})
		slow.Go(func() {
			testwait.Promised(t, "closing a slow client", untilClosed(t, conn, began), within+5*time.Second)
		})
	}
	for range 100 {
		trickle(header, time.Second)
		conn := api.dial()
		if _, err := conn.Write([]byte(header)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		slow.Go(func() {
			for _, b := range []byte(body) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(250 * time.Millisecond) //nolint:forbidigo // so slow is the client
			}
		})
		slow.Go(func() {
			testwait.Promised(t, "closing a client with a slow body", untilClosed(t, conn, began), 7*time.Second)
		})
	}
	for range 10 {
		conn := deafClient(t, api)
		began := time.Now()
		slow.Go(func() {
			// It reads nothing, so its writes fail once the server gives up.
			for {
				_ = conn.SetWriteDeadline(time.Now().Add(testwait.Limit))
				if _, err := conn.Write([]byte("GET /v1/runs HTTP/1.1\r\nHost: api\r\n\r\n")); err != nil {
					break
				}
				time.Sleep(20 * time.Millisecond) //nolint:forbidigo // so often it asks
			}
			testwait.Promised(t, "closing a client that reads nothing", time.Since(began), writeTimeout+9*time.Second)
		})
	}
	// A request that had to wait for a slow client would take seconds.
	testwait.Promised(t, "a request among slow clients", s.speed(api, 2000), time.Second)
	slow.Wait()
	s.requireNothingLeft(api, before)
	api.requireQuiet()
}

// deafClient returns a connection with a small receive buffer, which nothing
// reads.
func deafClient(t *testing.T, api *process) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", api.API)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// requireNothingLeft waits until the api has as many goroutines as before and
// holds no poll.
func (s *site) requireNothingLeft(api *process, goroutines float64) {
	s.t.Helper()
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	const own = 20 // of the test's own connections, and of the pools' that are opened meanwhile
	testwait.Until(s.t, fmt.Sprintf("at most %v goroutines and no poll are left", goroutines+own), func() bool {
		return api.metric("go_goroutines") <= goroutines+own && api.metric("lastseat_people_waiting") == 0
	})
}
