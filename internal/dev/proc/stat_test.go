package proc

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const line = "42 (a (b) c) S 7 41 40 0 -1 4194560 100 0 0 0 150 50 30 20 20 0 8 0 12345 0 0\n"
	want := stat{task{pid: 42, parent: 7, group: 41, started: "12345"}, 500 * time.Millisecond}
	if got, ok := parseStat([]byte(line)); !ok || got != want {
		t.Errorf("got %+v, %t", got, ok)
	}
	if got, ok := parseStat([]byte(strings.Replace(line, " S ", " Z ", 1))); !ok || !got.zombie {
		t.Errorf("a zombie: %+v, %t", got, ok)
	}
	for _, bad := range []string{"", "42 a S 7", "42 (a) S 7 42", strings.Replace(line, " 30 ", " x ", 1)} {
		if _, ok := parseStat([]byte(bad)); ok {
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
