package lane

import (
	"errors"
	"time"
)

// backoff spaces tries out: from 2 ms while the run is being settled elsewhere,
// or from 50 ms after another error, up to a second.
type backoff struct{ last time.Duration }

// elapsed is the channel of a timer that has fired.
var elapsed = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// next returns a channel that says when to try again. After no error, that is
// at once.
func (b *backoff) next(err error) <-chan time.Time {
	shortest := 50 * time.Millisecond
	switch {
	case err == nil:
		return elapsed
	case errors.Is(err, errElsewhere):
		shortest = 2 * time.Millisecond
	}
	b.last = min(max(2*b.last, shortest), time.Second)
	return time.After(b.last)
}
