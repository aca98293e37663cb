package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// standAfter is how long a line may stand still before the log names it.
	standAfter = 2 * time.Second

	// longestSilence is the longest pause between two warnings about one line.
	longestSilence = 5 * time.Minute

	// mostShown is how many lines the metric names.
	mostShown = 10
)

// standingLines are the lines that the last looks found waiting. They say which
// lines stand still, and why. Only the sweep's goroutine uses them. They cost
// nothing while no line stands still.
type standingLines struct {
	lines   map[enroll.RunID]*standingLine
	ledger  Ledger
	redis   redis.UniversalClient
	timeout time.Duration // of each question asked for a warning
	log     *slog.Logger
	metrics *Metrics
	shown   []string // the runs that the metric names
}

type standingLine struct {
	slug    string
	settled int64         // the settled ticket
	found   time.Time     // when the line was first found at that ticket
	since   time.Time     // since when its next request has been waiting for that ticket to move
	warned  bool          // this worker has warned of it
	next    time.Duration // the next warning comes when the line has stood for this long
}

func (s *standingLine) stood(now time.Time) time.Duration { return now.Sub(s.since) }

// stands tells whether the line stands still. It has been found twice at the
// same ticket: a worker that has just started finds lines that waited for it.
func (s *standingLine) stands(now time.Time) bool {
	return s.stood(now) >= standAfter && now.Sub(s.found) >= waitingAge/2
}

// look takes the waiting lines that a look at the runs (nil: all) found.
func (s *standingLines) look(ctx context.Context, runs []enroll.RunID, waiting []enroll.Backlog, now time.Time) {
	found := make(map[enroll.RunID]bool, len(waiting))
	for _, line := range waiting {
		found[line.RunID] = true
		before := s.lines[line.RunID]
		if before != nil && before.settled == line.Settled {
			continue
		}
		since := now
		if before == nil {
			since = now.Add(-max(line.Age, 0))
		} else {
			s.over(before, now)
		}
		s.lines[line.RunID] = &standingLine{slug: line.Run, settled: line.Settled, found: now, since: since, next: standAfter}
	}
	for run, line := range s.lines {
		if !found[run] && (runs == nil || slices.Contains(runs, run)) {
			s.over(line, now)
			delete(s.lines, run)
		}
	}
	s.show(now)
	s.warn(ctx, now)
}

// over says that a line that this worker has warned of moves again.
func (s *standingLines) over(line *standingLine, now time.Time) {
	if line.warned {
		s.log.Info("a line moves again", "run", line.slug, "stood_for", line.stood(now).Round(time.Millisecond))
	}
}

// show shows the lines that have stood still for longest in the metrics.
func (s *standingLines) show(now time.Time) {
	var standing []*standingLine
	for _, line := range s.lines {
		if line.stands(now) {
			standing = append(standing, line)
		}
	}
	slices.SortFunc(standing, func(a, b *standingLine) int { return a.since.Compare(b.since) })
	var shown []string
	for _, line := range standing[:min(len(standing), mostShown)] {
		s.metrics.standing.WithLabelValues(line.slug).Set(line.stood(now).Seconds())
		shown = append(shown, line.slug)
	}
	for _, slug := range s.shown {
		if !slices.Contains(shown, slug) {
			s.metrics.standing.DeleteLabelValues(slug)
		}
	}
	s.shown = shown
}

// warn warns of the lines that stand still, of each with growing gaps. Of the
// workers that see a line, the first to reserve a warning logs it.
func (s *standingLines) warn(ctx context.Context, now time.Time) {
	var due []enroll.RunID
	for run, line := range s.lines {
		if !line.stands(now) || line.stood(now) < line.next {
			continue
		}
		gap := min(max(line.stood(now), standAfter), longestSilence)
		if s.reserve(ctx, run, line.settled, gap) {
			due = append(due, run)
			line.warned, line.next = true, line.stood(now)+gap
		}
	}
	if len(due) == 0 {
		return
	}
	holders, err := s.holders(ctx, due)
	for _, run := range due {
		line := s.lines[run]
		args := []any{"run", line.slug, "ticket", line.settled + 1, "stood_for", line.stood(now).Round(time.Millisecond), "waits_for", holders[line.slug]}
		if err != nil {
			args = append(args, "error", err)
		}
		s.log.Warn("a line stands still", args...)
	}
}

// reserve returns whether this worker is to warn of the line. If Redis does not
// answer, every worker warns.
func (s *standingLines) reserve(ctx context.Context, run enroll.RunID, settled int64, gap time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	// A little shorter than the gap, so that the worker that has warned is the
	// next to warn.
	err := s.redis.SetArgs(ctx, fmt.Sprintf("lastseat:1:standing:%d:%d", run, settled), 1,
		redis.SetArgs{Mode: "NX", TTL: max(gap-waitingAge/2, waitingAge)}).Err()
	return !errors.Is(err, redis.Nil)
}

// holders returns for each of the runs what its line waits for.
func (s *standingLines) holders(ctx context.Context, runs []enroll.RunID) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	waitsFor := make(map[string]string, len(runs))
	for _, run := range runs {
		waitsFor[s.lines[run].slug] = "no other transaction: see the errors in this log"
	}
	holders, err := s.ledger.Holders(ctx, runs)
	if err != nil {
		for slug := range waitsFor {
			waitsFor[slug] = "unknown"
		}
		return waitsFor, err
	}
	said := make(map[string][]string)
	for _, h := range holders {
		if !h.Line {
			said[h.Run] = append(said[h.Run], fmt.Sprintf("%s: if it does not end, %s", h, h.Remedy()))
		}
	}
	for slug, all := range said {
		waitsFor[slug] = strings.Join(all, "; ")
	}
	return waitsFor, nil
}
