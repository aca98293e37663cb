package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// quiet finds out when nothing can happen in a line any more: nobody does
// anything or waits for an answer, except on the waiting list, and all that was
// asked for is decided. Only then can people stop waiting for a seat.
type quiet struct {
	over    chan struct{}                        // closed when all is quiet
	waiting func(context.Context) (int64, error) // how many requests of the line are undecided

	mu    sync.Mutex
	busy  int // people who do something, or may without being told anything
	woken int // how often somebody has become busy
	ended bool
}

// newQuiet begins with so many busy people.
func newQuiet(busy int, waiting func(context.Context) (int64, error)) *quiet {
	return &quiet{over: make(chan struct{}), waiting: waiting, busy: busy}
}

// idle says that somebody does nothing until being told something.
func (q *quiet) idle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
}

// leave says that somebody does nothing any more.
func (q *quiet) leave() { q.idle() }

// wake says that somebody who was idle may do something again, and tells whether
// that is so: once all is quiet it is not.
func (q *quiet) wake() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy++
	q.woken++
	return !q.ended
}

// await returns when all is quiet.
func (q *quiet) await(ctx context.Context) error {
	calm := time.Now() // since when nobody has done anything
	for woken := -1; ; {
		q.mu.Lock()
		busy, now := q.busy, q.woken
		q.mu.Unlock()
		if busy > 0 || now != woken {
			calm, woken = time.Now(), now
		}
		if busy == 0 {
			undecided, err := q.waiting(ctx)
			switch {
			case err == nil && undecided == 0 && q.end(now):
				return nil
			case time.Since(calm) > giveUp:
				return fmt.Errorf("%d requests of the line are undecided: %w", undecided, errOr(err, "nothing happens"))
			}
		}
		if !sleep(ctx, shortly/2) {
			return ctx.Err()
		}
	}
}

// end makes it quiet for good, unless somebody has become busy since.
func (q *quiet) end(woken int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy > 0 || q.woken != woken {
		return false
	}
	q.ended = true
	close(q.over)
	return true
}
