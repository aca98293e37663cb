package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// longLine puts so many entries of about a kilobyte into the line of a new run.
func (s *service) longLine(run string, entries int) {
	s.t.Helper()
	id := s.addRun(run, seats(0))
	s.exec(`
		INSERT INTO requests (run_id, ticket, id, kind, status, reason, name, email, email_key, accepted_at, decided_at)
		SELECT $1::integer, n, gen_random_uuid(), 'register', 'rejected', 'full', repeat('𝒜', 200), 'p' || n || '@example.org', 'p' || n || '@example.org',
		       now(), now()
		FROM generate_series(1, $2::integer) n`, id, entries)
	s.exec(`UPDATE lines SET last_ticket = $2 WHERE run_id = $1`, id, entries)
	s.exec(`UPDATE runs SET settled_ticket = $2 WHERE id = $1`, id, entries)
}

// open sends an organiser's call and returns the answer while it is on its way.
func (s *service) open(ctx context.Context, path string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", bearer)
	response, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("got status %d", response.StatusCode)
	}
	return response
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestLine_is_never_in_memory_as_a_whole(t *testing.T) {
	// Not parallel: it measures memory, and runs alone for that.
	s := start(t, place{})
	const entries = 20_000
	s.longLine("go-1", entries)
	for _, format := range []string{"json", "csv"} {
		before, most := heap(), int64(0)
		body := s.open(t.Context(), "/v1/runs/go-1/line?format="+format).Body
		size, marks := 0, 0
		chunk := make([]byte, 64<<10)
		for {
			n, err := body.Read(chunk)
			size += n
			if size > (marks+1)*4<<20 { // every four megabytes
				marks++
				most = max(most, heap()-before)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d bytes, at most %d bytes more on the heap", format, size, most)
		if size < entries*900 || marks < 3 || most > int64(size)/2 {
			t.Errorf("%s: %d bytes, looked at %d times, at most %d bytes more on the heap", format, size, marks, most)
		}
	}
	if got := len(s.line("go-1", "")); got != entries {
		t.Errorf("there are %d entries", got)
	}
}

func TestLine_stops_when_the_client_leaves(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.longLine("go-1", 60_000)
	ctx, leave := context.WithCancel(t.Context())
	body := s.open(ctx, "/v1/runs/go-1/line").Body
	if _, err := io.ReadFull(body, make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	leave()
	testwait.Until(t, "the request ends", func() bool { return strings.Contains(s.log.String(), `"route":"/v1/runs/:run/line"`) })
	if text := s.log.String(); strings.Contains(text, `"level":"ERROR"`) || strings.Contains(text, `"level":"WARN"`) {
		t.Error("that a client left is logged as trouble")
	}
	s.run("go-1") // the connections are of use again
}

func TestLine_that_breaks_off_does_not_look_whole(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.longLine("go-1", 60_000)
	for _, format := range []string{"json", "csv"} {
		body := bufio.NewReader(s.open(t.Context(), "/v1/runs/go-1/line?format="+format).Body)
		if _, err := body.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		mend := s.interrupt()
		if rest, err := io.ReadAll(body); err == nil {
			t.Errorf("%s: it ends well after %d bytes, with %q", format, len(rest), rest[max(len(rest)-100, 0):])
		}
		mend()
	}
	if n := strings.Count(s.log.String(), `"level":"ERROR"`); n != 2 {
		t.Errorf("it is logged %d times, want twice", n)
	}
	if strings.Contains(s.log.String(), "panic") {
		t.Error("it is logged as a panic")
	}

	t.Run("for HTTP 1.0 neither, where the end of the connection is the end", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /v1/runs/go-1/line?format=csv HTTP/1.0\r\nAuthorization: %s\r\n\r\n", bearer); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		if _, err := reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		defer s.interrupt()()
		if n, err := io.Copy(io.Discard, reader); err == nil {
			t.Errorf("it ends well after %d bytes", n)
		}
	})
	t.Run("before its first byte it is a problem", func(t *testing.T) {
		defer pgtest.Hold(t, s.place.database, `LOCK TABLE requests IN ACCESS EXCLUSIVE MODE`)()
		a := s.organise(http.MethodGet, "/v1/runs/go-1/line?format=csv", "")
		a.expectProblem(http.StatusServiceUnavailable, "unavailable", "")
	})
}

// interrupt has every further look at a line fail, until mend is called.
func (s *service) interrupt() (mend func()) {
	s.t.Helper()
	s.exec(`ALTER TABLE requests RENAME COLUMN by_organiser TO gone`)
	return func() { s.exec(`ALTER TABLE requests RENAME COLUMN gone TO by_organiser`) }
}

func TestLine_is_sent_while_it_is_read(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.longLine("go-1", 3000)
	// What arrives first is good to work with, entry by entry.
	d := json.NewDecoder(s.open(t.Context(), "/v1/runs/go-1/line?after=2000").Body)
	for range 5 { // {"run": …, "entries": [
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
	}
	ticket, began := int64(2000), time.Now()
	for ; d.More(); ticket++ {
		var e entry
		if err := d.Decode(&e); err != nil || e.Ticket != ticket+1 {
			t.Fatalf("after ticket %d comes %d, %v", ticket, e.Ticket, err)
		}
	}
	if ticket != 3000 {
		t.Errorf("the last ticket is %d, after %v", ticket, time.Since(began))
	}
}
