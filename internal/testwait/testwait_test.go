package testwait_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lastseat/lastseat/internal/testwait"
)

// recorder is a test that only keeps whether it failed.
type recorder struct {
	testing.TB
	name   string
	failed string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Name() string                   { return r.name }
func (r *recorder) Logf(string, ...any)            {}
func (r *recorder) Errorf(format string, _ ...any) { r.failed = format }

func (r *recorder) Fatalf(format string, _ ...any) {
	r.failed = format
	panic(r) // as FailNow ends the goroutine
}

// failure returns what f fails its test with, or "".
func failure(f func(t testing.TB)) (failed string) {
	r := new(recorder)
	defer func() {
		_ = recover()
		failed = r.failed
	}()
	f(r)
	return ""
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		testwait.Until(t, "the third look", func() bool { looks++; return looks == 3 })
		if looks != 3 || time.Since(began) > time.Second {
			t.Errorf("%d looks in %s", looks, time.Since(began))
		}
		if failure(func(t testing.TB) { testwait.Until(t, "never", func() bool { return false }) }) == "" {
			t.Error("it waits for ever")
		}
		if took := time.Since(began); took < testwait.Limit {
			t.Errorf("it gives up after %s", took)
		}
	})
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int)
		go func() { ch <- 7; close(ch) }()
		if got := testwait.Receive(t, "a value", ch); got != 7 {
			t.Errorf("received %d", got)
		}
		if got := testwait.Receive(t, "the end", ch); got != 0 {
			t.Errorf("received %d of a closed channel", got)
		}
		if failure(func(t testing.TB) { testwait.Receive(t, "never", make(chan int)) }) == "" {
			t.Error("it waits for ever")
		}
	})
}

func TestPromised(t *testing.T) {
	for _, test := range []struct {
		name   string
		timing string
		took   time.Duration
		fails  bool
	}{
		{"TestTimingRush", "1", time.Second, false},
		{"TestTimingRush", "1", time.Second + 1, true},
		{"TestTimingRush", "", time.Hour, false},
		{"TestRush", "", time.Second, true}, // make test-timing would not run it
		{"BenchmarkRush", "1", time.Second, false},
	} {
		t.Setenv(testwait.TimingVariable, test.timing)
		r := &recorder{name: test.name}
		testwait.Promised(r, "a rush", test.took, time.Second)
		if (r.failed != "") != test.fails {
			t.Errorf("%+v: %q", test, r.failed)
		}
	}
}
