package systemtest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestFloods fills the api's connections in several ways. In each, people can
// still ask for seats, and /readyz still answers.
func TestFloods(t *testing.T) {
	t.Parallel()
	const connections = 1300
	letOpen(t, 2*connections+500)
	s := newSite(t)
	s.files = 1100
	store := pgtest.Open(t, s.url)
	enrolltest.OpenRun(t, store, "a", nil)
	enrolltest.OpenRun(t, store, "crowd", nil)
	api := s.start("api")

	var crowd []enroll.Submission
	for n := range connections {
		crowd = append(crowd, enrolltest.Person("crowd", n))
	}
	for left := crowd; len(left) > 0; left = left[min(500, len(left)):] {
		if _, err := store.Accept(t.Context(), left[:min(500, len(left))]); err != nil {
			t.Fatal(err)
		}
	}
	poll := func(n int) string {
		return "GET /v1/registrations/" + crowd[n].ID.String() + "?wait=25 HTTP/1.1\r\nHost: api\r\n\r\n"
	}
	asked := 0
	for name, send := range map[string]func(int) string{
		"polls of one registration": func(int) string { return poll(0) },
		"polls of many":             poll,
		"silence":                   func(int) string { return "" },
		"half a header":             func(int) string { return "GET /v1/runs HTTP/1.1\r\nHost: a" },
	} {
		t.Run(name, func(t *testing.T) {
			conns := make([]net.Conn, connections)
			for n := range conns {
				conns[n] = api.dial()
				_, _ = io.WriteString(conns[n], send(n)) // the api may have refused it already
			}
			most := map[string]float64{"polls of one registration": 10, "polls of many": 800}[name]
			if most > 0 {
				testwait.Until(t, "the polls are held", func() bool { return api.metric("lastseat_people_waiting") >= min(most, 700) })
			}
			for range 5 {
				asked++
				testwait.Until(t, "a request is accepted", func() bool { return s.askWithin(5*time.Second, api, asked) == nil })
				if status := api.status("/readyz"); status != http.StatusOK {
					t.Errorf("/readyz answers %d", status)
				}
			}
			if n := api.metric("lastseat_people_waiting"); n > most {
				t.Errorf("%.0f are held, want %.0f at most", n, most)
			}
			if most > 0 {
				requireRefused(t, conns)
			}
			for _, c := range conns {
				c.Close()
			}
			testwait.Until(t, "no poll is held", func() bool { return api.metric("lastseat_people_waiting") == 0 })
		})
	}
	api.requireQuiet()
}

// askWithin asks for a seat on a new connection, within the time.
func (s *site) askWithin(d time.Duration, api *process, n int) error {
	client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return s.askContext(ctx, api, "a", n, new(told))
}

// requireRefused asserts that some connections were refused at once, with a
// Retry-After.
func requireRefused(t *testing.T, conns []net.Conn) {
	t.Helper()
	refused := 0
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			continue // it is held, or was closed to make room
		}
		a.Body.Close()
		if a.StatusCode == http.StatusOK {
			continue // it was held until its time was up
		}
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !a.Close {
			t.Errorf("a connection that is not held got %s %v", a.Status, a.Header)
		}
		refused++
	}
	if refused < 100 {
		t.Errorf("%d of %d were refused with an answer", refused, len(conns))
	}
}
