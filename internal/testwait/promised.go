package testwait

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TimingVariable is set by `make test-timing`, which runs the tests that compare
// durations, a few at a time and with nothing else beside them.
const TimingVariable = "LASTSEAT_TEST_TIMING"

// timingPrefix begins the names of the tests that `make test-timing` runs.
const timingPrefix = "TestTiming"

// Timing reports whether promised times and rates are asserted in this run.
// Elsewhere a slow machine is no failure.
func Timing() bool { return os.Getenv(TimingVariable) != "" }

// ParallelUnlessTiming is t.Parallel for a test that keeps the machine busy: where
// promised times are asserted, it runs alone.
func ParallelUnlessTiming(t *testing.T) {
	t.Helper()
	if !Timing() {
		t.Parallel()
	}
}

// Promised compares how long something took with the promised time. It fails the
// test only if Timing, and logs both times otherwise. The name of a test that
// calls it begins with TestTiming, or `make test-timing` would not run it.
func Promised(t testing.TB, what string, took, atMost time.Duration) {
	t.Helper()
	if name := t.Name(); !strings.HasPrefix(name, timingPrefix) && !strings.HasPrefix(name, "Benchmark") {
		t.Errorf("this test compares durations: its name must begin with %s", timingPrefix)
	}
	report := t.Logf
	if Timing() && took > atMost {
		report = t.Errorf
	}
	report("%s: took %s, promised within %s", what, took, atMost)
}
