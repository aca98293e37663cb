// Package testwait is how tests wait. They wait for signals and states, never
// for a guess of how long something takes, and all of them give up after the
// same generous time, so that they also pass on a machine that is far too busy.
// It is for tests only and imports nothing of this module.
package testwait

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Limit is how long a test waits for what must happen before it fails. It says
// nothing about how long anything should take.
const Limit = 2 * time.Minute

// pollInterval is the pause between two looks of Until. Each look may cost a
// query.
const pollInterval = 5 * time.Millisecond

// Until waits until done returns true. It fails the test at once if that does
// not happen within Limit; what names the awaited state, for instance "the
// second request waits". Call it from the goroutine of the test.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Limit); !done(); time.Sleep(pollInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", Limit, what)
		}
	}
}

// Receive returns the next value of ch, or its zero value if ch is closed. It
// fails the test at once if neither happens within Limit; what names the awaited
// event, for instance "the server stops". Call it from the goroutine of the test.
func Receive[T any](t testing.TB, what string, ch <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-ch:
	case <-time.After(Limit):
		t.Fatalf("not within %s: %s", Limit, what)
	}
	return value
}

// Main runs the tests of a package and exits. If they pass, they still fail if a
// goroutine that they started does not end within Limit. goleak itself waits for
// less than half a second, which is too short for connections that are being
// closed on a busy machine.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := findLeaks(options); err != nil {
			fmt.Fprintf(os.Stderr, "goroutines are left %s after the tests: %v\n", Limit, err)
			code = 1
		}
	}
	os.Exit(code)
}

// findLeaks returns an error that lists the goroutines that are left after
// Limit, or nil as soon as there are none.
func findLeaks(options []goleak.Option) error {
	for deadline := time.Now().Add(Limit); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
