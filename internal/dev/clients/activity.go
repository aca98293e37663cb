package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// activity finds out when nothing can happen in a line any more: every person has
// left or only waits on the waiting list, and every request is decided. Only then
// can people stop waiting for a seat.
type activity struct {
	over      chan struct{}                        // closed when nothing can happen any more
	undecided func(context.Context) (int64, error) // how many requests of the line are not decided

	mu      sync.Mutex
	active  int // people who may do something without being told anything
	resumed int // how often a person became active again
	ended   bool
}

// newActivity begins with that many active people.
func newActivity(active int, undecided func(context.Context) (int64, error)) *activity {
	return &activity{over: make(chan struct{}), undecided: undecided, active: active}
}

// pause says that a person does nothing until they are told something.
func (a *activity) pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active--
}

// leave says that a person does nothing any more.
func (a *activity) leave() { a.pause() }

// resume says that a person who paused may do something again, and reports whether
// they may: not once it is over.
func (a *activity) resume() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active++
	a.resumed++
	return !a.ended
}

// awaitEnd returns when nothing can happen any more.
func (a *activity) awaitEnd(ctx context.Context) error {
	since := time.Now() // when a person was last seen to be active
	for seen := -1; ; {
		a.mu.Lock()
		active, resumed := a.active, a.resumed
		a.mu.Unlock()
		if active > 0 || resumed != seen {
			since, seen = time.Now(), resumed
		}
		if active == 0 {
			undecided, err := a.undecided(ctx)
			switch {
			case err == nil && undecided == 0 && a.end(resumed):
				return nil
			case time.Since(since) > giveUpAfter:
				return fmt.Errorf("%d requests of the line are undecided: %w", undecided, cmp.Or(err, errors.New("nothing happens")))
			}
		}
		if !proc.Sleep(ctx, minPause/2) {
			return ctx.Err()
		}
	}
}

// end ends the activity for good, unless a person has become active since resumed
// was read.
func (a *activity) end(resumed int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active > 0 || a.resumed != resumed {
		return false
	}
	a.ended = true
	close(a.over)
	return true
}
