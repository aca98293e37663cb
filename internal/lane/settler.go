package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pubsub"
)

// Ledger settles lines and finds those that wait.
type Ledger interface {
	// Settle decides the next requests of the runs in one transaction, as many
	// as the terms allow in all. A run that is missing in the answer is being
	// settled by somebody else. After an error the outcome is unknown; settling
	// again is safe.
	Settle(ctx context.Context, runs []enroll.RunID, terms enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error)
	// Backlogs returns those of the runs (nil: of all) whose first undecided
	// request was accepted at least age ago.
	Backlogs(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Backlog, error)
	// Run returns the run, or an error of code NotFound.
	Run(ctx context.Context, slug string) (enroll.RunState, error)
}

// settleTimeout ends a transaction that gets no answer at all. The server's own
// timeouts end it long before if the connection stands.
const settleTimeout = 10 * time.Second

// errElsewhere: somebody else is settling the run at this instant.
var errElsewhere = errors.New("the run is being settled elsewhere")

// Settler gathers the lanes that are ready at this instant and settles their
// runs in one transaction.
type Settler struct {
	ledger     Ledger
	committers int
	terms      enroll.SettleLimits
	announce   func(pubsub.Settled)
	turns      chan *turn
	log        *slog.Logger
	metrics    *Metrics
}

// turn is a lane's wish to settle its run once.
type turn struct {
	run  enroll.RunID
	by   string
	done chan settled // has room for one
}

type settled struct {
	enroll.Progress
	err error
}

// NewSettler returns a settler with so many transactions at once at most, each held
// to the terms. It calls announce, which must not block, for what it settled.
func NewSettler(ledger Ledger, committers int, terms enroll.SettleLimits, announce func(pubsub.Settled), log *slog.Logger, m *Metrics) *Settler {
	return &Settler{
		ledger: ledger, committers: committers, terms: terms, announce: announce,
		turns: make(chan *turn), log: log, metrics: m,
	}
}

// Settle settles the run once, together with whoever else is ready. It returns
// errElsewhere if somebody else holds the run, and ctx's error when ctx ends
// first; the transaction may then still happen.
func (s *Settler) Settle(ctx context.Context, run enroll.RunID, by string) (enroll.Progress, error) {
	t := &turn{run: run, by: by, done: make(chan settled, 1)}
	select {
	case s.turns <- t:
	case <-ctx.Done():
		return enroll.Progress{}, ctx.Err()
	}
	select {
	case r := <-t.done:
		return r.Progress, r.err
	case <-ctx.Done():
		return enroll.Progress{}, ctx.Err()
	}
}

// patience is how long a transaction may take before another begins beside it.
const patience = 20 * time.Millisecond

// Run settles until ctx ends. One transaction at a time gathers the most lanes, and
// costs a fifth less than two at once. Only when it takes long does the next begin
// beside it: a connection that hangs must not hold up everybody.
func (s *Settler) Run(ctx context.Context) error {
	var door sync.Mutex // held by who gathers, and by who has just begun
	var g errgroup.Group
	for range s.committers {
		g.Go(func() error {
			for {
				door.Lock()
				turns := batch.Take(ctx, s.turns, s.terms.Budget)
				if turns == nil {
					door.Unlock()
					return nil
				}
				open := sync.OnceFunc(door.Unlock)
				late := time.AfterFunc(patience, open)
				s.settle(turns)
				late.Stop()
				open()
			}
		})
	}
	return g.Wait()
}

func (s *Settler) settle(turns []*turn) {
	runs := make([]enroll.RunID, len(turns))
	for i, t := range turns {
		runs[i] = t.run
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	start := time.Now()
	progress, err := s.ledger.Settle(ctx, runs, s.terms)
	s.metrics.settle.Observe(time.Since(start).Seconds())
	s.metrics.settleRuns.Observe(float64(len(turns)))
	if err != nil && len(turns) > 1 {
		s.log.Warn("settling runs together failed: settling each alone", "runs", len(turns), "error", err)
		for i := range turns {
			s.settle(turns[i : i+1]) // one run's trouble stays its own
		}
		return
	}
	for _, t := range turns {
		p, locked := progress[t.run]
		delete(progress, t.run) // two lanes of one run, an old one that is ending and its heir: one was first
		switch {
		case err != nil:
			t.done <- settled{err: err}
		case !locked:
			t.done <- settled{err: errElsewhere}
		default:
			crashpoint.Here(crashpoint.SettleCommitted)
			if p.First <= p.Last {
				s.metrics.settled.WithLabelValues(t.by).Add(float64(p.Last - p.First + 1))
			}
			if p.ChangedFrom <= p.Last { // whoever waits from there on is looked after
				s.announce(pubsub.Settled{RunID: t.run, First: p.ChangedFrom, Last: p.Last})
			}
			t.done <- settled{Progress: p}
		}
	}
}
