package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// askers is how many connections ask at once; the people share them.
const askers = 256

// giveUp is how long somebody keeps asking, and then keeps polling.
const giveUp = 2 * time.Minute

// click is one request of one person, and what that person was told.
type click struct {
	person int
	email  string
	key    string // the browser's Idempotency-Key: sending again is safe

	sent, answered time.Time
	ID             uuid.UUID `json:"id"`
	Ticket         int64     `json:"ticket"`
	Status         string    `json:"status"`
	Reason         *struct {
		Code string `json:"code"`
	} `json:"reason"`
	Final bool `json:"final"`
}

// newClicks returns the clicks of so many people in the order they are sent;
// every tenth person clicks twice.
func newClicks(people int) []*click {
	var clicks []*click
	for n := range people {
		for range 1 + (n%10)/9 {
			clicks = append(clicks, &click{person: n, email: fmt.Sprintf("person-%d@example.org", n), key: uuid.NewString()})
		}
	}
	return clicks
}

// ask sends all clicks at once and polls each to its end.
func (t *tool) ask(ctx context.Context, s *stack, slug string, clicks []*click) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: askers, MaxConnsPerHost: askers, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var answered, decided atomic.Int64
	stop := t.progress(ctx, func() string {
		return fmt.Sprintf("%d of %d requests answered, %d outcomes known", answered.Load(), len(clicks), decided.Load())
	})
	defer stop()

	var polls errgroup.Group
	err := forEach(ctx, clicks, func(sending context.Context, c *click) error {
		wait, err := c.send(sending, client, s.APIURL+"/v1/runs/"+slug+"/registrations")
		if err != nil {
			return fmt.Errorf("person %d: asking: %w", c.person, err)
		}
		answered.Add(1)
		polls.Go(func() error {
			if err := c.poll(ctx, client, s.APIURL, wait); err != nil {
				return fmt.Errorf("person %d: polling: %w", c.person, err)
			}
			decided.Add(1)
			return nil
		})
		return nil
	})
	if pollErr := polls.Wait(); err == nil {
		err = pollErr
	}
	return err
}

// forEach calls do for all clicks, in order, from as many goroutines as there
// are askers.
func forEach(ctx context.Context, clicks []*click, do func(context.Context, *click) error) error {
	g, ctx := errgroup.WithContext(ctx)
	next := make(chan *click)
	g.Go(func() error {
		defer close(next)
		for _, c := range clicks {
			select {
			case next <- c:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range askers {
		g.Go(func() error {
			for c := range next {
				if err := do(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// send asks until it is accepted, and returns how long the API says to wait
// before polling.
func (c *click) send(ctx context.Context, client *http.Client, url string) (time.Duration, error) {
	body := fmt.Sprintf(`{"name": "Person %d", "email": %q}`, c.person, c.email)
	c.sent = time.Now()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", c.key)
		status, wait, err := c.do(client, r)
		c.answered = time.Now()
		switch {
		case err == nil && status == http.StatusAccepted:
			return wait, nil
		case time.Since(c.sent) > giveUp || ctx.Err() != nil || err == nil && status != http.StatusServiceUnavailable:
			return 0, fmt.Errorf("status %d: %w", status, errOr(err, "not accepted"))
		}
		if !sleep(ctx, max(wait, 100*time.Millisecond)) {
			return 0, ctx.Err()
		}
	}
}

// poll asks for the outcome until it is final.
func (c *click) poll(ctx context.Context, client *http.Client, api string, wait time.Duration) error {
	for began := time.Now(); ; {
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/v1/registrations/"+c.ID.String()+"?wait=10", nil)
		if err != nil {
			return err
		}
		var status int
		status, wait, err = c.do(client, r)
		switch {
		case err == nil && status == http.StatusOK && c.Final:
			return nil
		case time.Since(began) > giveUp || ctx.Err() != nil || err == nil && status != http.StatusOK && status != http.StatusServiceUnavailable:
			return fmt.Errorf("status %d: %w", status, errOr(err, "no outcome"))
		}
		wait = max(wait, 100*time.Millisecond)
	}
}

// do sends the request and reads the answer into the click.
func (c *click) do(client *http.Client, r *http.Request) (status int, retryAfter time.Duration, err error) {
	answer, err := client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // absent once it is final
	retryAfter = time.Duration(seconds) * time.Second
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err == nil && answer.StatusCode < 300 {
		err = json.Unmarshal(body, c)
	}
	return answer.StatusCode, retryAfter, err
}

func errOr(err error, text string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s", text)
}

// sleep tells whether it was not interrupted.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// progress says once a second where things are, until the function it returns is
// called.
func (t *tool) progress(ctx context.Context, now func() string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for sleep(ctx, time.Second) {
			t.log.printf("%s", now())
		}
	})
	return func() {
		cancel()
		wg.Wait()
		t.log.printf("%s", now())
	}
}

// settled is what a worker's counters say.
type settled struct{ task, sweep float64 }

// settledBy reads the counters of requests settled by tasks and by the sweep.
func settledBy(ctx context.Context, admin string) (settled, error) {
	var s settled
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/metrics", nil)
	if err != nil {
		return s, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return s, fmt.Errorf("reading the worker's metrics: %w", err)
	}
	defer answer.Body.Close()
	found := 0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		for by, to := range map[string]*float64{"task": &s.task, "sweep": &s.sweep} {
			if text, is := strings.CutPrefix(lines.Text(), `lastseat_requests_settled_total{by="`+by+`"} `); is {
				if *to, err = strconv.ParseFloat(text, 64); err != nil {
					return s, fmt.Errorf("reading the worker's metrics: %w", err)
				}
				found++
			}
		}
	}
	if found != 2 {
		return s, fmt.Errorf("reading the worker's metrics: the counters of settled requests are not there")
	}
	return s, nil
}

func share(task, sweep float64) float64 {
	if task+sweep == 0 {
		return 0
	}
	return task / (task + sweep)
}
