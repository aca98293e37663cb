package systemtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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

// request is what a client sends to ask for a seat.
func request(key string, n int) (header, body string) {
	body = fmt.Sprintf(`{"name": "Person %d", "email": "p%d@example.org"}`, n, n)
	header = fmt.Sprintf("POST /v1/runs/a/registrations HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n", key, len(body))
	return header, body
}

// speed has 30 people ask one after the other and returns the longest wait.
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

// untilClosed returns after how long the server has closed the connection, of
// which everything is read that it sent before.
func untilClosed(t *testing.T, conn net.Conn, began time.Time) time.Duration {
	_ = conn.SetReadDeadline(began.Add(testwait.Limit))
	_, err := io.Copy(io.Discard, conn)
	if timeout, is := err.(net.Error); is && timeout.Timeout() { //nolint:errorlint // as it comes from the connection
		t.Error("the server keeps the connection of a slow client")
	}
	return time.Since(began)
}

// TestTimingSlowClients: they keep nobody from anything, and are gone in good time.
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
			testwait.Promised(t, "sending a slow client away", untilClosed(t, conn, began), within+5*time.Second)
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
			testwait.Promised(t, "sending a client with a slow body away", untilClosed(t, conn, began), 7*time.Second)
		})
	}
	for range 10 {
		conn := deafClient(t, api)
		began := time.Now()
		slow.Go(func() {
			// It reads nothing, so that writing ends with the server's patience.
			for {
				_ = conn.SetWriteDeadline(time.Now().Add(testwait.Limit))
				if _, err := conn.Write([]byte("GET /v1/runs HTTP/1.1\r\nHost: api\r\n\r\n")); err != nil {
					break
				}
				time.Sleep(20 * time.Millisecond) //nolint:forbidigo // so often it asks
			}
			testwait.Promised(t, "sending a client away that reads nothing", time.Since(began), writeTimeout+9*time.Second)
		})
	}
	// Whoever waits for one of the slow ones waits for seconds.
	testwait.Promised(t, "a request among slow clients", s.speed(api, 2000), time.Second)
	slow.Wait()
	s.requireNothingLeft(api, before)
	api.requireQuiet()
}

// deafClient returns a connection that takes little before it is read from.
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

// requireNothingLeft fails the test unless the api soon has as many goroutines
// as before, and holds no poll.
func (s *site) requireNothingLeft(api *process, goroutines float64) {
	s.t.Helper()
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	const own = 20 // of the test's own connections, and of the pools' that are opened meanwhile
	testwait.Until(s.t, fmt.Sprintf("of at most %v goroutines and no poll nothing is left over", goroutines+own), func() bool {
		return api.metric("go_goroutines") <= goroutines+own && api.metric("lastseat_people_waiting") == 0
	})
}

// TestTimingClientsThatHangUp leave nothing behind, in whichever phase.
func TestTimingClientsThatHangUp(t *testing.T) {
	t.Parallel()
	const clients = 50
	s := newSite(t)
	store := pgtest.Open(t, s.url)
	enrolltest.OpenRun(t, store, "a", nil)
	long := enrolltest.OpenRun(t, store, "long", enrolltest.Seats(0))
	// A commit waits for as long as the test needs to hang up, also on a busy machine.
	pgtest.AddAdmin(t, s.url)
	api := s.start("api", "LASTSEAT_POSTGRES_LOCK_TIMEOUT=5s", "LASTSEAT_INTAKE_COMMIT_TIMEOUT=11s",
		fmt.Sprintf("LASTSEAT_API_MAX_POLLS=%d", clients))
	s.speed(api, 0)
	before := api.metric("go_goroutines")
	each := func(talk func(n int, conn net.Conn)) {
		t.Helper()
		var wg sync.WaitGroup
		for n := range clients {
			conn := api.dial()
			wg.Go(func() { talk(n, conn) })
		}
		wg.Wait()
	}
	write := func(conn net.Conn, text string) {
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}

	t.Run("before the header ends, and in the body", func(t *testing.T) {
		for _, part := range []int{1, 2} {
			each(func(n int, conn net.Conn) {
				header, body := request(fmt.Sprintf("partial-%d", n), 1000+n)
				if part == 1 {
					write(conn, header[:len(header)-3])
				} else {
					write(conn, header+body[:5])
				}
				conn.Close()
			})
		}
		s.requireNothingLeft(api, before)
		if n := pgtest.Query[int64](t, s.url, `SELECT count(*) FROM requests WHERE name LIKE 'Person 1___'`)[0]; n != 0 {
			t.Errorf("%d are in the line who did not finish asking", n)
		}
	})

	t.Run("while the commit is on its way: accepted all the same, and once", func(t *testing.T) {
		release := pgtest.Hold(t, s.url, `SELECT FROM lines FOR UPDATE`)
		conns := make([]net.Conn, clients)
		began := api.metric(`lastseat_requests_accepted_total`)
		each(func(n int, conn net.Conn) {
			header, body := request(fmt.Sprintf("person-%d", 2000+n), 2000+n)
			write(conn, header+body)
			conns[n] = conn
		})
		testwait.Until(t, "the commit waits for a lock", func() bool { return pgtest.LockWaiters(t, s.url) > 0 })
		for _, conn := range conns {
			conn.Close()
		}
		release()
		testwait.Until(t, "all requests are accepted", func() bool { return api.metric(`lastseat_requests_accepted_total`) == began+clients })
		for n := range clients {
			var answer told
			if err := s.ask(api, "a", 2000+n, &answer); err != nil {
				t.Fatal(err)
			}
			ids := pgtest.Query[string](t, s.url, `SELECT id::text FROM requests WHERE email = $1`, fmt.Sprintf("p%d@example.org", 2000+n))
			if len(ids) != 1 || ids[0] != answer.ID.String() {
				t.Errorf("person %d was told %s, and in the line stand %v", 2000+n, answer.ID, ids)
			}
		}
		s.requireNothingLeft(api, before)
	})

	t.Run("while a poll is held", func(t *testing.T) {
		var asked told
		if err := s.ask(api, "a", 3000, &asked); err != nil {
			t.Fatal(err)
		}
		conns := make([]net.Conn, clients)
		each(func(n int, conn net.Conn) {
			write(conn, "GET /v1/registrations/"+asked.ID.String()+"?wait=25 HTTP/1.1\r\nHost: api\r\n\r\n")
			conns[n] = conn
		})
		testwait.Until(t, "all polls are held", func() bool { return api.metric("lastseat_people_waiting") == clients })
		for _, conn := range conns {
			conn.Close()
		}
		s.requireNothingLeft(api, before)
	})

	t.Run("in the middle of a line that is sent", func(t *testing.T) {
		const entries = 20_000 // 20 MB, more than the kernel keeps for a connection
		pgtest.Exec(t, s.url, `
			INSERT INTO requests (run_id, ticket, id, kind, status, reason, name, email, email_key, accepted_at, decided_at)
			SELECT $1::integer, n, gen_random_uuid(), 'register', 'rejected', 'full', repeat('𝒜', 200), 'p' || n || '@example.org', 'p' || n || '@example.org',
			       now(), now()
			FROM generate_series(1, $2::integer) n`, long, entries)
		pgtest.Exec(t, s.url, `UPDATE lines SET last_ticket = $2 WHERE run_id = $1`, long, entries)
		pgtest.Exec(t, s.url, `UPDATE runs SET settled_ticket = $2 WHERE id = $1`, long, entries)
		each(func(n int, conn net.Conn) {
			write(conn, "GET /v1/runs/long/line HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer "+pgtest.AdminToken+"\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil {
				_, err = io.ReadFull(answer.Body, make([]byte, 10_000))
			}
			if err != nil {
				t.Error(err)
			}
			conn.Close()
		})
		s.requireNothingLeft(api, before)
	})

	if open := api.metric("process_open_fds"); open > 60 {
		t.Errorf("%v files and connections are open", open)
	}
	testwait.Promised(t, "a request afterwards", s.speed(api, 4000), time.Second)
	api.requireQuiet()
}

// TestAPollOfADeadConnection: nobody says that the client is gone, and still
// nothing is left of its poll.
func TestAPollOfADeadConnection(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", nil)
	api := s.start("api")
	proxy := pgtest.NewProxy(t, "http://"+api.API)
	var asked told
	if err := s.ask(api, "a", 1, &asked); err != nil {
		t.Fatal(err)
	}
	before := api.metric("go_goroutines")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, proxy.URL()+"/v1/registrations/"+asked.ID.String()+"?wait=2", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
			t.Error("an answer came through a dead connection")
		}
	}()
	testwait.Until(t, "the poll is held", func() bool { return api.metric("lastseat_people_waiting") == 1 })
	proxy.Set(pgtest.Deafen)
	testwait.Until(t, "the poll is over", func() bool { return api.metric("lastseat_people_waiting") == 0 })
	proxy.Cut()
	s.requireNothingLeft(api, before)
	api.requireQuiet()
}
