package proc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run runs c to its end. When ctx is done first, Run stops c and returns the
// cause of ctx.
func Run(ctx context.Context, c Command) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := Start(c)
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		p.Stop()
		return context.Cause(ctx)
	}
}

// AwaitReady calls probe again and again until it succeeds. It gives up when p
// ends, when ctx is done, or after the time limit.
func AwaitReady(ctx context.Context, p *Process, limit time.Duration, probe func(context.Context) error) error {
	late := fmt.Errorf("%s did not answer within %s", p.Name, limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, 2*time.Second)
		err := probe(attempt)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return &UnexpectedEnd{p.Name, p.err}
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), late) {
				return fmt.Errorf("%w: %w", late, err)
			}
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// UnexpectedEnd is the end of a process that should have kept running.
type UnexpectedEnd struct {
	Name string
	Err  error // nil = it ended with status 0
}

func (e *UnexpectedEnd) Error() string {
	if e.Err == nil {
		return e.Name + " has ended by itself"
	}
	return fmt.Sprintf("%s has died: %s", e.Name, e.Err)
}

func (e *UnexpectedEnd) Unwrap() error { return e.Err }
