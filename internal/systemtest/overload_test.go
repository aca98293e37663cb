package systemtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

const (
	slowCommit    = 250 * time.Millisecond // what the proxy adds to every reply of Postgres
	commitTimeout = 3 * time.Second        // intake.commit_timeout's default
)

// crush is an api with slow commits, and its clients.
type crush struct {
	*site
	api   *process
	proxy *pgtest.Proxy
	http  *http.Client

	mu     sync.Mutex
	asked  int
	counts map[string]int // answers by status and code
	took   map[string][]time.Duration
}

func newCrush(t testing.TB, batch int) *crush {
	t.Helper()
	c := &crush{site: newSite(t)}
	enrolltest.OpenRun(t, pgtest.Open(t, c.url), "a", enrolltest.Seats(seats))
	c.proxy = pgtest.NewProxy(t, c.url)
	// An api that gets no processor for seconds must not take its clients for slow
	// ones.
	c.api = c.start("api", "LASTSEAT_POSTGRES_URL="+c.proxy.URL(), "LASTSEAT_INTAKE_BATCH="+strconv.Itoa(batch),
		"LASTSEAT_API_READ_HEADER_TIMEOUT=1m", "LASTSEAT_API_READ_TIMEOUT=1m")
	c.start("worker")
	// Clients keep their connections. Otherwise the test would measure
	// connecting.
	c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10_000}}
	t.Cleanup(c.http.CloseIdleConnections)
	c.forget()
	return c
}

// forget clears the counts for the next phase.
func (c *crush) forget() {
	c.counts, c.took = make(map[string]int), make(map[string][]time.Duration)
}

// ask asks for a seat for a new person, and notes the answer.
func (c *crush) ask() {
	c.mu.Lock()
	c.asked++
	n := c.asked
	c.mu.Unlock()
	began := time.Now()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+c.api.API+"/v1/runs/a/registrations",
		strings.NewReader(fmt.Sprintf(`{"name": "Person %d", "email": "p%d@example.org"}`, n, n)))
	if err != nil {
		c.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer answer.Body.Close()
	var problem struct{ Code string }
	if body, err := io.ReadAll(answer.Body); err != nil || json.Unmarshal(body, &problem) != nil {
		c.t.Errorf("the answer is %q, %v", body, err)
	}
	took := time.Since(began)
	said := strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + problem.Code)
	if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || after < 1 {
		c.t.Errorf("%s has Retry-After %q", said, answer.Header.Get("Retry-After"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[said]++
	c.took[said] = append(c.took[said], took)
}

// saturate has this many people ask again and again. It returns how many
// requests were accepted per second.
func (c *crush) saturate(people int, d time.Duration) float64 {
	began := time.Now()
	var wg sync.WaitGroup
	for range people {
		wg.Go(func() {
			for time.Since(began) < d {
				c.ask()
			}
		})
	}
	wg.Wait()
	return c.acceptedPerSecond(began, began.Add(d))
}

// offer has this many people per second ask, without waiting for earlier
// answers. It returns the most memory that the api held meanwhile.
func (c *crush) offer(perSecond float64, d time.Duration) (memory float64) {
	var wg sync.WaitGroup
	began := time.Now()
	wg.Go(func() { // beside them, or they would come in bursts
		look := time.NewTicker(500 * time.Millisecond)
		defer look.Stop()
		for ; time.Since(began) < d; <-look.C {
			memory = max(memory, c.api.memory())
		}
	})
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for sent := 0; time.Since(began) < d; <-tick.C {
		for due := int(time.Since(began).Seconds() * perSecond); sent < due; sent++ {
			wg.Go(c.ask)
		}
	}
	wg.Wait()
	return memory
}

// acceptedPerSecond returns the rate of whole commits between two instants, or
// 0 if there are fewer than two.
func (c *crush) acceptedPerSecond(from, to time.Time) float64 {
	c.t.Helper()
	return pgtest.Query[float64](c.t, c.url, `
		SELECT coalesce(count(*) FILTER (WHERE accepted_at > first) / nullif(extract(epoch FROM max(accepted_at) - min(accepted_at)), 0), 0)::float8
		FROM (SELECT accepted_at, min(accepted_at) OVER () AS first FROM requests WHERE accepted_at BETWEEN $1 AND $2) q`, from, to)[0]
}

// overloaded is what was observed during an overload.
type overloaded struct {
	saturated, accepted float64       // per second: at the highest rate, and when offered three times that
	batch               float64       // requests per commit meanwhile
	refusal             time.Duration // the 99th percentile of the time to a 503
	acceptance          time.Duration // the longest time to a 202
	memory              float64       // the most memory, in MiB
	recovery            time.Duration // until a second began in which all requests were accepted as usual
}

// measures tells whether to assert rates. A machine that runs other tests may
// neither commit nor offer as much as intended.
func (c *crush) measures() bool {
	_, benchmark := c.t.(*testing.B)
	return benchmark || testwait.Timing()
}

// overload delays commits, offers three times the highest rate of acceptance
// for d, and removes the delay. usual is the longest wait without overload.
func (c *crush) overload(batch int, d, usual time.Duration) (o overloaded) {
	c.t.Helper()
	c.ask()
	c.proxy.Delay(slowCommit)
	o.saturated = c.saturate(2*batch, 3*time.Second)
	if len(c.counts) != 1 && c.measures() {
		c.t.Errorf("although there is room for all requests to wait, the answers are %v", c.counts)
	}

	c.forget()
	offered := 3 * float64(batch) / slowCommit.Seconds() // of commits that take no time but the delay
	began, commits, requests := time.Now(), c.api.metric("lastseat_intake_batch_requests_count"), c.api.metric("lastseat_intake_batch_requests_sum")
	o.memory = c.offer(offered, d)
	o.batch = (c.api.metric("lastseat_intake_batch_requests_sum") - requests) / (c.api.metric("lastseat_intake_batch_requests_count") - commits)
	o.accepted = c.acceptedPerSecond(began, began.Add(d))
	for said, n := range c.counts {
		if said != "202" && said != "503 busy" {
			c.t.Errorf("%d answers are %s", n, said)
		}
	}
	if n := c.counts["503 busy"]; n < c.counts["202"] && c.measures() {
		c.t.Errorf("this was not an overload: %d were refused and %d accepted", n, c.counts["202"])
	}
	o.refusal = quantile(c.took["503 busy"], 0.99)
	o.acceptance = quantile(c.took["202"], 1)
	c.t.Logf("%.0f/s can be accepted; of %.0f/s, %.0f/s were, after %s at most (median %s); the others were refused within %s (median %s, p99 %s); %.0f MiB",
		o.saturated, offered, o.accepted, o.acceptance, quantile(c.took["202"], 0.5),
		quantile(c.took["503 busy"], 1), quantile(c.took["503 busy"], 0.5), o.refusal, o.memory)

	c.proxy.Delay(0)
	began = time.Now()
	for {
		c.forget()
		o.recovery = time.Since(began)
		c.offer(50, time.Second)
		if len(c.counts) == 1 && c.counts["202"] > 0 && quantile(c.took["202"], 1) < usual {
			return o
		}
		if time.Since(began) > testwait.Limit {
			c.t.Errorf("%s later the answers are %v, within %s", testwait.Limit, c.counts, quantile(c.took["202"], 1))
			return o
		}
	}
}

func TestTimingThreeTimesWhatCanBeAccepted(t *testing.T) {
	testwait.ParallelUnlessTiming(t)
	const batch = 40 // 160 a second
	c := newCrush(t, batch)
	o := c.overload(batch, 4*time.Second, time.Second)
	// The benchmark measures how fast commits are. Here, all commits but the
	// first and the last must be full.
	if c.measures() && (o.batch < 0.8*batch || o.accepted < 0.5*o.saturated) {
		t.Errorf("%.0f/s were accepted under overload, %.0f per commit; %.0f/s is possible", o.accepted, o.batch, o.saturated)
	}
	// A request that is refused only at its turn has waited for three seconds.
	testwait.Promised(t, "a refusal", o.refusal, 2*time.Second)
	// The wait for a commit to begin, the commit, and time for a busy machine.
	testwait.Promised(t, "the slowest acceptance", o.acceptance, commitTimeout+slowCommit+time.Second)
	testwait.Promised(t, "answers as usual after the overload", o.recovery, 5*time.Second)
	if o.memory > 200 {
		t.Errorf("the api held %.0f MiB", o.memory)
	}
	c.api.requireQuiet()
	pgtest.RequireSound(t, c.url)
}

// BenchmarkOverload runs a minute of overload: use -benchtime 1x.
// docs/operations.md has the numbers.
func BenchmarkOverload(b *testing.B) {
	const batch = 100 // 400 a second
	for b.Loop() {
		c := newCrush(b, batch)
		o := c.overload(batch, time.Minute, 100*time.Millisecond)
		if o.accepted < 0.9*o.saturated {
			b.Errorf("%.0f/s were accepted under overload, and %.0f/s can be", o.accepted, o.saturated)
		}
		if o.refusal > 100*time.Millisecond {
			b.Errorf("a refusal took %s", o.refusal)
		}
		if o.acceptance > commitTimeout+slowCommit {
			b.Errorf("an acceptance took %s", o.acceptance)
		}
		c.api.requireQuiet()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(o.saturated, "saturated/s")
		b.ReportMetric(o.accepted, "accepted/s")
		b.ReportMetric(milliseconds(o.refusal), "ms-refusal-p99")
		b.ReportMetric(milliseconds(o.acceptance), "ms-accepted-worst")
		b.ReportMetric(o.memory, "MiB")
		b.ReportMetric(milliseconds(o.recovery), "ms-recovery")
	}
}
