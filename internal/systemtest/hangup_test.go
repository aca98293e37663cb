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
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestTimingClientsThatHangUp hangs up in every phase of a request. Nothing
// must be left behind.
func TestTimingClientsThatHangUp(t *testing.T) {
	t.Parallel()
	const clients = 50
	s := newSite(t)
	store := pgtest.Open(t, s.url)
	enrolltest.OpenRun(t, store, "a", nil)
	long := enrolltest.OpenRun(t, store, "long", enrolltest.Seats(0))
	// A commit waits long enough for the test to hang up, even on a busy
	// machine.
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
			t.Errorf("%d requests are in the line although they were not sent completely", n)
		}
	})

	t.Run("while the commit is on its way: each request is still accepted, once", func(t *testing.T) {
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
				t.Errorf("person %d was told %s, but the line has %v", 2000+n, answer.ID, ids)
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

	t.Run("in the middle of a line that is being sent", func(t *testing.T) {
		const entries = 20_000 // 20 MB, more than the kernel buffers for a connection
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

// TestAPollOfADeadConnection checks that nothing is left of a poll whose client
// has gone without notice.
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
