// Package outage keeps a log readable while something is away: it says that it
// is, says so again every ten seconds, and says when it is back.
package outage

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// again is the pause between two lines about one outage.
const again = 10 * time.Second

// Log speaks of one thing that can be away. It is safe for concurrent use.
type Log struct {
	log   *slog.Logger
	level slog.Level
	fails string // what is so during the outage, as a sentence
	works string // what is so after it

	mu       sync.Mutex
	since    time.Time // of the first failure; zero while all is well
	said     time.Time
	failures int
}

// New returns a log that says fails while the thing is away, at level, and works
// when it is back. Both are sentences that can be read alone.
func New(log *slog.Logger, level slog.Level, fails, works string) *Log {
	return &Log{log: log, level: level, fails: fails, works: works}
}

// Failed notes a failure, and logs the first of an outage and one every ten
// seconds, with how many there were.
func (l *Log) Failed(err error, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.failures++
	if l.since.IsZero() {
		l.since = now
	} else if now.Sub(l.said) < again {
		return
	}
	l.said = now
	args = append([]any{"error", err, "failures", l.failures}, args...)
	l.log.Log(context.Background(), l.level, l.fails, args...)
}

// Recovered notes a success, and logs the end of an outage.
func (l *Log) Recovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return
	}
	l.log.Info(l.works, "failures", l.failures, "after", time.Since(l.since))
	l.since, l.said, l.failures = time.Time{}, time.Time{}, 0
}
