package systemtest

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// held is what was observed while each person held a poll, and when all of them
// were answered.
type held struct {
	memory float64       // how much more the api held than before, in MiB
	cpu    float64       // percent of a core that the api used
	post   time.Duration // the longest of 30 requests for a seat meanwhile
	told   time.Duration // from a decision to its answer, at most
	all    time.Duration // from the first decision to the last answer
}

// hold has this many people poll at once, each on a connection of its own. It
// measures the api while they wait, and then has a worker decide all of them.
func hold(t testing.TB, people int) (h held) {
	t.Helper()
	letOpen(t, uint64(people)*8/7+1000) // an eighth of the api's connections holds no poll
	s := newSite(t)
	store := pgtest.Open(t, s.url)
	enrolltest.OpenRun(t, store, "a", nil)
	enrolltest.OpenRun(t, store, "crowd", enrolltest.Seats(seats))
	api := s.start("api")
	s.speed(api, 0)
	var crowd []enroll.Submission
	for n := range people {
		crowd = append(crowd, enrolltest.Person("crowd", n))
	}
	for left := crowd; len(left) > 0; left = left[min(500, len(left)):] {
		if _, err := store.Accept(t.Context(), left[:min(500, len(left))]); err != nil {
			t.Fatal(err)
		}
	}
	before := api.memory()

	conns := make([]net.Conn, people)
	for n, sub := range crowd {
		conns[n] = api.dial()
		if _, err := conns[n].Write([]byte("GET /v1/registrations/" + sub.ID.String() + "?wait=25 HTTP/1.1\r\nHost: api\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "all polls are held", func() bool { return api.metric("lastseat_people_waiting") == float64(people) })
	h.memory = api.memory() - before
	began, used := time.Now(), api.cpu()
	time.Sleep(6 * time.Second) //nolint:forbidigo // the api reads all held registrations twice in this time
	h.cpu = 100 * float64(api.cpu()-used) / float64(time.Since(began))
	h.post = s.speed(api, 1000)

	var mu sync.Mutex
	var first, last time.Time
	var hearing sync.WaitGroup
	for _, conn := range conns {
		hearing.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(testwait.Limit))
			var r struct {
				Final     bool
				DecidedAt time.Time `json:"decided_at"`
			}
			answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 1024), nil)
			if err == nil {
				err = json.NewDecoder(answer.Body).Decode(&r)
			}
			at := time.Now()
			if err != nil || answer.StatusCode != http.StatusOK || !r.Final {
				t.Errorf("a poll was answered %+v, %v", r, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			h.told = max(h.told, at.Sub(r.DecidedAt))
			if first.IsZero() || r.DecidedAt.Before(first) {
				first = r.DecidedAt
			}
			if at.After(last) {
				last = at
			}
		})
	}
	s.start("worker")
	hearing.Wait()
	h.all = last.Sub(first)
	t.Logf("%d polls: %.0f MiB, %.1f %% of a core, another's request took %s at most; from decision to answer %s at most, all of them within %s",
		people, h.memory, h.cpu, h.post, h.told, h.all)
	for _, conn := range conns {
		conn.Close()
	}
	api.requireQuiet()
	pgtest.RequireSound(t, s.url)
	return h
}

// letOpen raises the limit on open files of this process, and so of the
// programs that it starts.
func letOpen(t testing.TB, files uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= files {
		return
	}
	limit.Cur, limit.Max = files, max(limit.Max, files)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("the test needs %d open files; raise ulimit -n: %v", files, err)
	}
}

func TestTimingPollsOfACrowd(t *testing.T) {
	testwait.ParallelUnlessTiming(t)
	const people = 2000
	h := hold(t, people)
	// The bounds leave room for a machine that runs other tests. They fail if a
	// poll costs more than a goroutine and two buffers, if each poll causes
	// reads of its own, or if polls are answered only by the look every three
	// seconds.
	if h.memory > people*100/1024. {
		t.Errorf("%d polls hold %.0f MiB", people, h.memory)
	}
	if testwait.Timing() && h.cpu > 50 {
		t.Errorf("%d polls use %.0f %% of a core", people, h.cpu)
	}
	testwait.Promised(t, "another's request", h.post, time.Second)
	testwait.Promised(t, "telling all", h.all, 6*time.Second)
}

// BenchmarkPolls holds 8000 polls: use -benchtime 1x. docs/operations.md has
// the numbers.
func BenchmarkPolls(b *testing.B) {
	const people = 8000
	for b.Loop() {
		h := hold(b, people)
		if h.post > 100*time.Millisecond || h.all > 2*time.Second {
			b.Errorf("others waited %s, and all heard within %s", h.post, h.all)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(h.memory, "MiB")
		b.ReportMetric(h.cpu, "%core")
		b.ReportMetric(milliseconds(h.post), "ms-post-worst")
		b.ReportMetric(milliseconds(h.told), "ms-told-worst")
		b.ReportMetric(milliseconds(h.all), "ms-all-told")
	}
}
