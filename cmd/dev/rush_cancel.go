package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// regret is whether and when somebody cancels.
type regret struct {
	when regretTime
	// moment is when the one who cancels at a moment does so: 0 is the first
	// answer of the rush and 1 the last; beyond that it is a while afterwards.
	moment  float64
	devices int // at once
}

type regretTime int

const (
	never        regretTime = iota
	atOnce                  // after having been accepted, which mostly is before the decision
	whenPromoted            // from the waiting list; at the moment, if there was a seat at once
	atMoment
)

// afterwards is how long after its last answer a rush has people who cancel.
const afterwards = 2 * time.Second

// lastMoment is the moment that comes last.
const lastMoment = 1.25

// newRegret draws whether and when somebody cancels. Share is how many of all
// do.
func newRegret(share float64) regret {
	if rand.Float64() >= share { //nolint:gosec // nobody gains by guessing it
		return regret{}
	}
	r := regret{when: atMoment, moment: lastMoment * rand.Float64(), devices: 1} //nolint:gosec // the same
	switch rand.IntN(5) {                                                        //nolint:gosec // the same
	case 0:
		r.when = atOnce
	case 1:
		r.when = whenPromoted
	}
	if rand.IntN(5) == 0 { //nolint:gosec // the same
		r.devices = 2
	}
	return r
}

// moment waits until it is time to cancel.
func (w *crowd) moment(ctx context.Context, r regret) error {
	part := min(int(r.moment*float64(len(w.moments))), len(w.moments)-1)
	select {
	case <-w.moments[part]:
	case <-ctx.Done():
		return ctx.Err()
	}
	if late := (r.moment - 1) / (lastMoment - 1); late > 0 && !sleep(ctx, time.Duration(late*float64(afterwards))) {
		return ctx.Err()
	}
	return nil
}

// cancelAnswer is how the API answered somebody who cancelled.
type cancelAnswer struct {
	code    int    // 202, 200, 409 or 410
	problem string // the code of a 409 or 410
	ticket  int64  // of the cancellation
}

// cancelled tells whether the person was told that the registration is or will
// be cancelled.
func (c *click) cancelled() bool {
	for _, a := range c.cancels {
		if a.took() {
			return true
		}
	}
	return false
}

// took tells whether there is a cancellation.
func (a cancelAnswer) took() bool { return a.code == http.StatusAccepted || a.code == http.StatusOK }

// cancel cancels the registration, from so many devices at once.
func (c *click) cancel(ctx context.Context, d *door) error {
	answers := make([]answer, c.regret.devices)
	g, ctx := errgroup.WithContext(ctx)
	for i := range answers {
		g.Go(func() (err error) {
			answers[i], err = c.cancelOnce(ctx, d)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, a := range answers {
		said := cancelAnswer{code: a.code, problem: a.problem}
		c.gone = c.gone || a.code == http.StatusGone
		if said.took() {
			c.note(a)
			if a.registration.Cancellation != nil {
				said.ticket = a.registration.Cancellation.Ticket
			}
		}
		c.cancels = append(c.cancels, said)
	}
	return nil
}

// cancelOnce cancels the registration from one device.
func (c *click) cancelOnce(ctx context.Context, d *door) (answer, error) {
	for began := time.Now(); ; {
		a, err := d.call(ctx, http.MethodDelete, "/v1/registrations/"+c.ID.String(), "", make(http.Header))
		known := a.code == http.StatusAccepted || a.code == http.StatusOK || a.code == http.StatusConflict ||
			a.code == http.StatusGone && a.problem == correctedProblem
		switch {
		case err == nil && known:
			return a, nil
		case time.Since(began) > giveUp || ctx.Err() != nil || err == nil && a.code != http.StatusServiceUnavailable:
			return a, fmt.Errorf("cancelling: status %d: %w", a.code, errOr(err, "not accepted"))
		}
		if !sleep(ctx, max(a.wait, shortly)) {
			return a, ctx.Err()
		}
	}
}
