package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Observation is the status of a registration as the API told it once.
type Observation struct {
	Asked, Answered time.Time
	Status          enroll.Status
	Position        int // on the waiting list; 0 = none was told
}

// Submission is one submission of one person, and what that person was told.
type Submission struct {
	Person int
	Email  string
	Key    string // the Idempotency-Key: sending it again is safe
	Plan   CancelPlan

	Sent, Answered time.Time
	Registration   // as told last
	ETag           string
	Observed       []Observation
	Refused        []Answer // by which it was not accepted
	Cancels        []CancelAnswer
	Gone           bool // told that the address was corrected: the registration is another person's
}

// learn takes over what an answer says about the registration.
func (s *Submission) learn(a Answer) {
	s.Registration, s.ETag = a.Registration, a.ETag
	s.observe(a)
}

func (s *Submission) observe(a Answer) {
	o := Observation{Asked: a.Asked, Answered: a.Answered, Status: a.Registration.Status}
	if p := a.Registration.WaitlistPosition; p != nil {
		o.Position = *p
	}
	s.Observed = append(s.Observed, o)
}

// Send sends the submission until it is accepted, and returns how long the API
// asks to wait before polling.
func (s *Submission) Send(ctx context.Context, c *Client, slug string) (time.Duration, error) {
	s.Sent = time.Now()
	a, err := c.Persist(ctx, Request{
		Method: http.MethodPost, Path: "/v1/runs/" + slug + "/registrations",
		Body:   fmt.Sprintf(`{"name": "Person %d", "email": %q}`, s.Person, s.Email),
		Header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {s.Key}},
	}, func(a Answer) bool { return a.Status == http.StatusAccepted }, func(a Answer) { s.Refused = append(s.Refused, a) })
	s.Answered = time.Now()
	if err != nil {
		return 0, err
	}
	s.learn(a)
	return a.RetryAfter, nil
}

// Await polls until what the person was told is enough. The first poll comes after
// wait.
func (s *Submission) Await(ctx context.Context, c *Client, wait time.Duration, enough func() bool) error {
	for began := time.Now(); ; {
		if !proc.Sleep(ctx, wait) {
			return ctx.Err()
		}
		known := s.ETag
		if s.Status == enroll.Queued {
			known = "" // without it, the API holds the answer until the status changes
		}
		a, err := s.Look(ctx, c, "?wait=10", known)
		switch {
		case err == nil && (enough() || s.Gone):
			return nil
		case time.Since(began) > giveUpAfter || ctx.Err() != nil || errors.Is(err, errRefused):
			return fmt.Errorf("status %d: %w", a.Status, cmp.Or(err, errors.New("no outcome")))
		}
		wait = max(a.RetryAfter, minPause)
	}
}

// AwaitDecision polls until the registration is decided.
func (s *Submission) AwaitDecision(ctx context.Context, c *Client, wait time.Duration) error {
	return s.Await(ctx, c, wait, func() bool { return s.Status != enroll.Queued })
}

// AwaitRelease polls until the registration has neither a seat nor a place.
func (s *Submission) AwaitRelease(ctx context.Context, c *Client) error {
	return s.Await(ctx, c, 0, func() bool { return !s.Holds() })
}

// Refresh asks for the status as it is now.
func (s *Submission) Refresh(ctx context.Context, c *Client) error {
	s.ETag = "" // else the API may answer that nothing has changed
	return s.Await(ctx, c, 0, func() bool { return true })
}

// correctedProblem is the code of the API's answer to a link that was sent to a
// wrong address, once that address was corrected.
const correctedProblem = "corrected"

// errRefused is an answer that does not change if you ask again.
var errRefused = errors.New("refused")

// Look asks once for the registration. With the ETag known, the API tells it only
// if it has changed.
func (s *Submission) Look(ctx context.Context, c *Client, query, known string) (Answer, error) {
	header := make(http.Header)
	if known != "" {
		header.Set("If-None-Match", known)
	}
	a, err := c.Do(ctx, Request{Method: http.MethodGet, Path: "/v1/registrations/" + s.ID.String() + query, Header: header})
	switch {
	case err != nil || a.Status == http.StatusNotModified:
	case a.Status == http.StatusOK:
		s.learn(a)
	case a.Status == http.StatusGone && a.Problem == correctedProblem:
		s.Gone = true
	case a.Status == http.StatusServiceUnavailable:
		err = errors.New("not available")
	default:
		err = errRefused
	}
	return a, err
}
