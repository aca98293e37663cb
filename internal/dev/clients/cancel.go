package clients

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
)

// CancelAnswer is the API's answer to a person who cancelled.
type CancelAnswer struct {
	Status  int    // 202, 200, 409 or 410
	Problem string // the code of a 409 or 410
	Ticket  int64  // of the cancellation
}

// Accepted reports whether there is a cancellation.
func (a CancelAnswer) Accepted() bool {
	return a.Status == http.StatusAccepted || a.Status == http.StatusOK
}

// CancelAccepted reports whether the person was told that the registration is or
// will be cancelled.
func (s *Submission) CancelAccepted() bool {
	for _, a := range s.Cancels {
		if a.Accepted() {
			return true
		}
	}
	return false
}

// Cancel cancels the registration, from as many devices at once as planned.
func (s *Submission) Cancel(ctx context.Context, c *Client) error {
	answers := make([]Answer, s.Plan.Devices)
	g, ctx := errgroup.WithContext(ctx)
	for i := range answers {
		g.Go(func() (err error) {
			answers[i], err = s.cancelOnce(ctx, c)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, a := range answers {
		got := CancelAnswer{Status: a.Status, Problem: a.Problem}
		s.Gone = s.Gone || a.Status == http.StatusGone
		if got.Accepted() {
			s.observe(a)
			if a.Registration.Cancellation != nil {
				got.Ticket = a.Registration.Cancellation.Ticket
			}
		}
		s.Cancels = append(s.Cancels, got)
	}
	return nil
}

// cancelOnce cancels the registration from one device.
func (s *Submission) cancelOnce(ctx context.Context, c *Client) (Answer, error) {
	q := Request{Method: http.MethodDelete, Path: "/v1/registrations/" + s.ID.String()}
	a, err := c.Persist(ctx, q, func(a Answer) bool {
		return a.Status == http.StatusAccepted || a.Status == http.StatusOK || a.Status == http.StatusConflict ||
			a.Status == http.StatusGone && a.Problem == correctedProblem
	}, nil)
	if err != nil {
		return a, fmt.Errorf("cancelling: %w", err)
	}
	return a, nil
}
