package proc

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "42 (a (b) c) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 8 0 12345 0 0\n"
	ended, parent, ok := parseStat([]byte(line))
	if !ok || ended != 500*time.Millisecond || parent != 7 {
		t.Errorf("got %v, %d, %t", ended, parent, ok)
	}
	for _, bad := range []string{"", "42 a S 7", "42 (a) S 7 42", strings.Replace(line, " 30 ", " x ", 1)} {
		if _, _, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q is taken for a stat", bad)
		}
	}
}

func TestTreeClock(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("without /proc, no CPU time is measured")
	}
	before, ok := processClock(os.Getpid())
	if !ok {
		t.Fatal("the clock is not known")
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if now, _ := processClock(os.Getpid()); now > before {
			tree, ok := treeClock(os.Getpid())
			if !ok || tree < now {
				t.Errorf("with its children it has used %v, and %v alone", tree, now)
			}
			return
		}
	}
	t.Error("20 seconds of work used no time")
}
