package verify

import (
	"slices"
	"testing"
	"time"
)

func TestRecoveryCountsFromTheLastExcuse(t *testing.T) {
	t.Parallel()
	asked := func(first int64, asked, decided int) []LineMark {
		return []LineMark{{at(asked), first, first - 1}, {at(decided), first, first}}
	}
	excuses := []Interval{{at(100), at(200)}, {at(150), at(300)}}
	for _, test := range []struct {
		name string
		line []LineMark
		want int // milliseconds
	}{
		{"nobody asked", nil, 0},
		{"before anything broke", asked(1, 0, 40), 40},
		{"while something was broken", asked(1, 120, 290), 0},
		{"from the end of the last excuse", asked(1, 120, 350), 50},
		{"from when it was asked for", asked(1, 400, 420), 20},
		{"the slowest counts", slices.Concat(asked(1, 120, 350), asked(2, 400, 420), []LineMark{{at(430), 3, 2}}), 50},
		{"several at once", []LineMark{{at(400), 1, 0}, {at(410), 3, 0}, {at(430), 3, 1}, {at(450), 3, 3}}, 40},
	} {
		if got := SlowestRecovery(test.line, excuses); got != time.Duration(test.want)*time.Millisecond {
			t.Errorf("%s: %v, want %d ms", test.name, got, test.want)
		}
	}
}
