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
	// Settle decides the next requests of the runs in one transaction, as many in
	// all as the limits allow. A run that is missing in the answer is being settled
	// elsewhere. After an error the outcome is unknown; settling again is safe.
	Settle(ctx context.Context, runs []enroll.RunID, limits enroll.SettleLimits) (map[enroll.RunID]enroll.Progress, error)
	// Backlogs returns those of the runs (nil: of all) whose first undecided
	// request was accepted at least age ago.
	Backlogs(ctx context.Context, runs []enroll.RunID, age time.Duration) ([]enroll.Backlog, error)
	// Holders returns the transactions that hold rows of the runs or heads of their
	// lines.
	Holders(ctx context.Context, runs []enroll.RunID) ([]enroll.Holder, error)
	// Run returns the run, or an error of code NotFound.
	Run(ctx context.Context, slug string) (enroll.RunState, error)
}

const (
	// settleTimeout ends a transaction that gets no answer at all. As long as the
	// connection stands, the server's own timeouts end it long before.
	settleTimeout = 10 * time.Second

	// overlapAfter is how long a transaction may take before another one begins
	// beside it.
	overlapAfter = 20 * time.Millisecond
)

// errElsewhere says that another session is settling the run at this instant.
var errElsewhere = errors.New("the run is being settled elsewhere")

// Settler settles the runs of all lanes that are ready at the same instant in
// one transaction.
type Settler struct {
	ledger     Ledger
	committers int
	limits     enroll.SettleLimits
	announce   func(pubsub.Settled)
	requests   chan *settleRequest
	log        *slog.Logger
	metrics    *Metrics
}

// settleRequest asks to settle a run once.
type settleRequest struct {
	run  enroll.RunID
	by   string
	done chan settleResult // has room for one
}

type settleResult struct {
	enroll.Progress
	err error
}

// NewSettler returns a settler with up to committers transactions at once, each
// held to the limits. For the tickets that it settled it calls announce, which
// must not block.
func NewSettler(ledger Ledger, committers int, limits enroll.SettleLimits, announce func(pubsub.Settled), log *slog.Logger, m *Metrics) *Settler {
	return &Settler{
		ledger: ledger, committers: committers, limits: limits, announce: announce,
		requests: make(chan *settleRequest), log: log, metrics: m,
	}
}

// Settle settles the run once, together with others that are ready. It returns
// errElsewhere if another session holds the run, and ctx's error when ctx ends
// first; the transaction may still be committed then.
func (s *Settler) Settle(ctx context.Context, run enroll.RunID, by string) (enroll.Progress, error) {
	r := &settleRequest{run: run, by: by, done: make(chan settleResult, 1)}
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return enroll.Progress{}, ctx.Err()
	}
	select {
	case result := <-r.done:
		return result.Progress, result.err
	case <-ctx.Done():
		return enroll.Progress{}, ctx.Err()
	}
}

// Run settles until ctx ends. One transaction at a time settles the most runs
// together, and costs a fifth less than two at once. Only when it takes long
// does the next one begin beside it: a connection that hangs must not hold up
// all runs.
func (s *Settler) Run(ctx context.Context) error {
	// A token for the committer that collects the next batch. It is given back as
	// soon as another transaction may begin.
	collecting := make(chan struct{}, 1)
	collecting <- struct{}{}
	var g errgroup.Group
	for range s.committers {
		g.Go(func() error {
			for {
				<-collecting
				requests := batch.Take(ctx, s.requests, s.limits.Budget)
				release := sync.OnceFunc(func() { collecting <- struct{}{} })
				if requests == nil {
					release()
					return nil
				}
				overlap := time.AfterFunc(overlapAfter, release)
				s.settle(requests)
				overlap.Stop()
				release()
			}
		})
	}
	return g.Wait()
}

// settle settles the runs of the requests together. If that fails, it settles
// each alone, so that the trouble of one run stays its own.
func (s *Settler) settle(requests []*settleRequest) {
	runs := make([]enroll.RunID, len(requests))
	for i, r := range requests {
		runs[i] = r.run
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	start := time.Now()
	progress, err := s.ledger.Settle(ctx, runs, s.limits)
	s.metrics.settle.Observe(time.Since(start).Seconds())
	s.metrics.settleRuns.Observe(float64(len(requests)))
	if err != nil && len(requests) > 1 {
		s.log.Warn("runs could not be settled together: settling each alone", "runs", len(requests), "error", err)
		for i := range requests {
			s.settle(requests[i : i+1])
		}
		return
	}
	for _, r := range requests {
		p, locked := progress[r.run]
		delete(progress, r.run) // an ending lane and the next one of its run may ask together: the first has it
		switch {
		case err != nil:
			r.done <- settleResult{err: err}
		case !locked:
			r.done <- settleResult{err: errElsewhere}
		default:
			crashpoint.Here(crashpoint.SettleCommitted)
			s.report(r, p)
			r.done <- settleResult{Progress: p}
		}
	}
}

// report counts the tickets that were settled, and announces those that
// changed.
func (s *Settler) report(r *settleRequest, p enroll.Progress) {
	if p.First <= p.Last {
		s.metrics.settled.WithLabelValues(r.by).Add(float64(p.Last - p.First + 1))
	}
	if p.ChangedFrom <= p.Last {
		s.announce(pubsub.Settled{RunID: r.run, First: p.ChangedFrom, Last: p.Last})
	}
}
