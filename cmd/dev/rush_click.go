package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// shortly is the least time between two questions about the same registration.
const shortly = 100 * time.Millisecond

// telling is one time that somebody was told how a registration stands.
type telling struct {
	asked, answered time.Time
	status          enroll.Status
	position        int // on the waiting list
}

// click is one request of one person, and what that person was told.
type click struct {
	person int
	email  string
	key    string // the browser's Idempotency-Key: sending again is safe
	regret regret

	sent, answered time.Time
	registration   // as told last
	etag           string
	told           []telling
	refused        []answer // of the times that it was not accepted
	cancels        []cancelAnswer
	gone           bool // told that the address was corrected: it is somebody else's now
}

// hear notes what an answer tells of the registration.
func (c *click) hear(a answer) {
	c.registration, c.etag = a.registration, a.etag
	c.note(a)
}

func (c *click) note(a answer) {
	t := telling{asked: a.asked, answered: a.answered, status: a.registration.Status}
	if p := a.registration.WaitlistPosition; p != nil {
		t.position = *p
	}
	c.told = append(c.told, t)
}

// send asks until it is accepted, and returns how long the API says to wait
// before polling.
func (c *click) send(ctx context.Context, d *door, slug string) (time.Duration, error) {
	body := fmt.Sprintf(`{"name": "Person %d", "email": %q}`, c.person, c.email)
	c.sent = time.Now()
	for {
		a, err := d.call(ctx, http.MethodPost, "/v1/runs/"+slug+"/registrations", body, http.Header{
			"Content-Type": {"application/json"}, "Idempotency-Key": {c.key},
		})
		c.answered = time.Now()
		switch {
		case err == nil && a.code == http.StatusAccepted:
			c.hear(a)
			return a.wait, nil
		case time.Since(c.sent) > giveUp || ctx.Err() != nil || err == nil && a.code != http.StatusServiceUnavailable:
			return 0, fmt.Errorf("status %d: %w", a.code, errOr(err, "not accepted"))
		}
		c.refused = append(c.refused, a)
		if !sleep(ctx, max(a.wait, shortly)) {
			return 0, ctx.Err()
		}
	}
}

// follow polls to the end of the registration, and cancels it if that is what
// the person does.
func (c *click) follow(ctx context.Context, w *crowd, wait time.Duration) error {
	defer w.quiet.leave()
	polling := w.asking
	if c.regret.when != never {
		polling, wait = w.giving, 0 // who means to cancel looks at once
	}
	if c.regret.when == atOnce {
		if err := c.cancel(ctx, w.giving); err != nil {
			return err
		}
	}
	if err := c.await(ctx, polling, wait, func() bool { return c.Status != enroll.Queued }); err != nil {
		return err
	}
	w.decided.Add(1)
	if c.holds() && (c.regret.when == atMoment || c.regret.when == whenPromoted && c.Status == enroll.Confirmed) {
		if err := w.moment(ctx, c.regret); err != nil {
			return err
		}
		if err := c.cancel(ctx, w.giving); err != nil {
			return err
		}
	}
	if c.Status == enroll.Waitlisted && !c.cancelled() {
		goesOn, err := c.waitForSeat(ctx, w)
		if err != nil || !goesOn {
			return err
		}
		if c.regret.when == whenPromoted && c.Status == enroll.Confirmed {
			if err := c.cancel(ctx, w.giving); err != nil {
				return err
			}
		}
	}
	if !c.cancelled() {
		return nil
	}
	w.cancelled.Add(1)
	if !c.holds() {
		return nil // it was not even decided before
	}
	return c.await(ctx, w.giving, 0, func() bool { return !c.holds() })
}

// await polls until what the person was told is enough.
func (c *click) await(ctx context.Context, d *door, wait time.Duration, enough func() bool) error {
	for began := time.Now(); ; {
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
		known := c.etag
		if c.Status == enroll.Queued {
			known = "" // which holds the answer for as long
		}
		a, err := c.look(ctx, d, "?wait=10", known)
		switch {
		case err == nil && (enough() || c.gone):
			return nil
		case time.Since(began) > giveUp || ctx.Err() != nil || errors.Is(err, errRefused):
			return fmt.Errorf("status %d: %w", a.code, errOr(err, "no outcome"))
		}
		wait = max(a.wait, shortly)
	}
}

// waitForSeat polls on the waiting list until the person is off it or until all
// is quiet, and tells whether the rush still goes on.
func (c *click) waitForSeat(ctx context.Context, w *crowd) (goesOn bool, err error) {
	w.quiet.idle()
	defer func() { goesOn = w.quiet.wake() }()
	held, stop := context.WithCancel(ctx) // a question that is held ends when all is quiet
	defer stop()
	go func() {
		select {
		case <-w.quiet.over:
			stop()
		case <-held.Done():
		}
	}()
	for last := time.Now(); ; { // the last good answer
		a, err := c.look(held, w.watching, "?wait=5", c.etag)
		wait := shortly
		switch {
		case err == nil && c.Status != enroll.Waitlisted:
			return true, nil
		case err == nil:
			last = time.Now()
		case held.Err() != nil && ctx.Err() == nil:
			c.etag = "" // to be told now
			return false, c.await(ctx, w.watching, 0, func() bool { return true })
		case time.Since(last) > giveUp || ctx.Err() != nil || errors.Is(err, errRefused):
			return false, fmt.Errorf("status %d: %w", a.code, err)
		default:
			wait = max(a.wait, shortly)
		}
		sleep(held, wait)
	}
}

// correctedProblem is the code of the answer to whoever comes with a link that was
// sent to a wrong address.
const correctedProblem = "corrected"

// errRefused is an answer that asking again does not change.
var errRefused = errors.New("refused")

// look asks once how the registration stands, unless that is what is known.
func (c *click) look(ctx context.Context, d *door, query, known string) (answer, error) {
	header := make(http.Header)
	if known != "" {
		header.Set("If-None-Match", known)
	}
	a, err := d.call(ctx, http.MethodGet, "/v1/registrations/"+c.ID.String()+query, "", header)
	switch {
	case err != nil || a.code == http.StatusNotModified:
	case a.code == http.StatusOK:
		c.hear(a)
	case a.code == http.StatusGone && a.problem == correctedProblem:
		c.gone = true
	case a.code == http.StatusServiceUnavailable:
		err = errors.New("not available")
	default:
		err = errRefused
	}
	return a, err
}
