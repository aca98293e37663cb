package verify

import "time"

// LineMark is a line as it was seen once, by this program's clock.
type LineMark struct {
	At      time.Time
	Last    int64 // ticket
	Settled int64 // ticket
}

// Interval is a time during which a line may stand still.
type Interval struct{ From, To time.Time }

// SlowestRecovery returns the longest time that a request waited for its decision
// while nothing excused it: from the end of the last excuse before the decision,
// or from the request if that was later.
func SlowestRecovery(marks []LineMark, excuses []Interval) time.Duration {
	var slowest time.Duration
	next := 0
	for i, asked := range marks {
		if i > 0 && asked.Last == marks[i-1].Last {
			continue // no new request
		}
		for next = max(next, i); next < len(marks) && marks[next].Settled < asked.Last; {
			next++
		}
		if next == len(marks) {
			break // undecided requests are counted elsewhere
		}
		decided, since := marks[next].At, asked.At
		for _, e := range excuses {
			if e.From.Before(decided) && e.To.After(since) {
				since = e.To
			}
		}
		slowest = max(slowest, decided.Sub(since))
	}
	return slowest
}
