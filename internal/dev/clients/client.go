// Package clients is simulated people who use Lastseat's API over HTTP. It
// remembers what the API told each of them, and when; others judge it.
//
//	client.go      HTTP: one request and its answer
//	submission.go  one person's submission, and what they were told
//	cancel.go      how a person cancels; cancelplan.go: when
//	rush.go        many people who ask for the seats of a run at once
//	follow.go      what each of them does after the answer
//	activity.go    when none of them will do anything more
package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Registration is a registration as the API describes it.
type Registration struct {
	ID     uuid.UUID     `json:"id"`
	Ticket int64         `json:"ticket"`
	Status enroll.Status `json:"status"`
	Reason *struct {
		Code enroll.Reason `json:"code"`
	} `json:"reason"`
	WaitlistPosition *int `json:"waitlist_position"`
	Cancellation     *struct {
		Ticket int64         `json:"ticket"`
		Status enroll.Status `json:"status"`
	} `json:"cancellation"`
}

// Holds reports whether the registration has a seat or a place on the waiting
// list.
func (r Registration) Holds() bool {
	return r.Status == enroll.Confirmed || r.Status == enroll.Waitlisted
}

// Request is a request to the API.
type Request struct {
	Method string
	Path   string // with the query
	Body   string
	Header http.Header
}

// Answer is the API's answer to one request.
type Answer struct {
	Asked, Answered time.Time
	Status          int // of HTTP; 0 = no answer
	RetryAfter      time.Duration
	ETag            string
	Registration    Registration // in an answer below 300
	Problem         string       // the code of a problem
}

// Client sends requests to the APIs of a stack in turn.
type Client struct {
	Timeout time.Duration // for one answer; 0 = none

	http *http.Client
	apis []string // their URLs
	next atomic.Uint64
}

// New returns a client with that many connections to each API.
func New(conns int, apis ...string) *Client {
	return &Client{
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}},
		apis: apis,
	}
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends the request to the next API and reads the answer.
func (c *Client) Do(ctx context.Context, q Request) (a Answer, err error) {
	if c.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		ctx = limited
	}
	url := c.apis[c.next.Add(1)%uint64(len(c.apis))] + q.Path
	r, err := http.NewRequestWithContext(ctx, q.Method, url, strings.NewReader(q.Body))
	if err != nil {
		return a, err
	}
	if q.Header != nil {
		r.Header = q.Header.Clone()
	}
	a.Asked = time.Now()
	response, err := c.http.Do(r)
	a.Answered = time.Now()
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.Status, a.ETag = response.StatusCode, response.Header.Get("ETag")
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // absent once the status is final
	a.RetryAfter = time.Duration(seconds) * time.Second
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	switch {
	case err != nil:
	case a.Status < 300:
		err = json.Unmarshal(text, &a.Registration)
	case a.Status >= 400:
		var problem struct {
			Code string `json:"code"`
		}
		if json.Unmarshal(text, &problem) == nil { // other texts have no code
			a.Problem = problem.Code
		}
	}
	return a, err
}

const (
	// minPause is the shortest pause between two requests about the same thing.
	minPause = 100 * time.Millisecond
	// giveUpAfter is how long a person keeps asking, and then keeps polling.
	giveUpAfter = 2 * time.Minute
)

// Persist sends the request until done accepts the answer. It tries again after
// 503 and after requests without an answer, having passed the answer to refused,
// which may be nil. Any other answer ends it with an error, as does giveUpAfter.
func (c *Client) Persist(ctx context.Context, q Request, done func(Answer) bool, refused func(Answer)) (Answer, error) {
	for began := time.Now(); ; {
		a, err := c.Do(ctx, q)
		switch {
		case err == nil && done(a):
			return a, nil
		case time.Since(began) > giveUpAfter || ctx.Err() != nil || err == nil && a.Status != http.StatusServiceUnavailable:
			return a, fmt.Errorf("status %d: %w", a.Status, cmp.Or(err, errors.New("not accepted")))
		}
		if refused != nil {
			refused(a)
		}
		if !proc.Sleep(ctx, max(a.RetryAfter, minPause)) {
			return a, ctx.Err()
		}
	}
}
