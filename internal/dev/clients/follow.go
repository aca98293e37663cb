package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enroll"
)

// follow polls a submission to its end and cancels it if that is the person's
// plan. The first poll comes after wait.
func (r *Rush) follow(ctx context.Context, s *Submission, wait time.Duration) error {
	defer r.activity.leave()
	polling := r.registering
	if s.Plan.When != CancelNever {
		polling, wait = r.cancelling, 0 // people who will cancel look at once
	}
	if s.Plan.When == CancelAtOnce {
		if err := s.Cancel(ctx, r.cancelling); err != nil {
			return err
		}
	}
	if err := s.AwaitDecision(ctx, polling, wait); err != nil {
		return err
	}
	r.decided.Add(1)
	if s.Holds() && (s.Plan.When == CancelAt || s.Plan.When == CancelOncePromoted && s.Status == enroll.Confirmed) {
		if err := r.awaitCancelTime(ctx, s.Plan); err != nil {
			return err
		}
		if err := s.Cancel(ctx, r.cancelling); err != nil {
			return err
		}
	}
	if s.Status == enroll.Waitlisted && !s.CancelAccepted() {
		goesOn, err := r.waitForSeat(ctx, s)
		if err != nil || !goesOn {
			return err
		}
		if s.Plan.When == CancelOncePromoted && s.Status == enroll.Confirmed {
			if err := s.Cancel(ctx, r.cancelling); err != nil {
				return err
			}
		}
	}
	if !s.CancelAccepted() {
		return nil
	}
	r.cancelled.Add(1)
	if !s.Holds() {
		return nil // it was cancelled before it was decided
	}
	return s.AwaitRelease(ctx, r.cancelling)
}

// awaitCancelTime waits until the plan's time has come.
func (r *Rush) awaitCancelTime(ctx context.Context, p CancelPlan) error {
	part := min(int(p.At*float64(len(r.milestones))), len(r.milestones)-1)
	select {
	case <-r.milestones[part]:
	case <-ctx.Done():
		return ctx.Err()
	}
	if late := (p.At - 1) / (latest - 1); late > 0 && !proc.Sleep(ctx, time.Duration(late*float64(afterwards))) {
		return ctx.Err()
	}
	return nil
}

// waitForSeat polls for a person on the waiting list until they are off it or
// the rush is over, and reports whether the rush goes on.
func (r *Rush) waitForSeat(ctx context.Context, s *Submission) (goesOn bool, err error) {
	r.activity.pause()
	defer func() { goesOn = r.activity.resume() }()
	held, stop := context.WithCancel(ctx) // ends a long poll when the rush is over
	defer stop()
	go func() {
		select {
		case <-r.activity.over:
			stop()
		case <-held.Done():
		}
	}()
	for last := time.Now(); ; { // the last good answer
		a, err := s.Look(held, r.watching, "?wait=5", s.ETag)
		wait := minPause
		switch {
		case err == nil && s.Status != enroll.Waitlisted:
			return true, nil
		case err == nil:
			last = time.Now()
		case held.Err() != nil && ctx.Err() == nil:
			return false, s.Refresh(ctx, r.watching)
		case time.Since(last) > giveUpAfter || ctx.Err() != nil || errors.Is(err, errRefused):
			return false, fmt.Errorf("status %d: %w", a.Status, err)
		default:
			wait = max(a.RetryAfter, minPause)
		}
		proc.Sleep(held, wait)
	}
}
