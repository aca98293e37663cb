// Package intake collects the submissions that arrive at one API process and
// commits them in batches.
//
// It owns the wait between a request and its commit: its bounds, its order,
// what is done when a commit fails, and the answer to a repeated
// Idempotency-Key. It must not know HTTP, SQL or queues.
package intake

import (
	"context"
	"hash/fnv"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// Ledger accepts submissions in one transaction: all or none, in the order
// given. After an error of code OutcomeUnknown it is not known which. After any
// other error none was accepted: LineBlocked if one of the lines is held,
// Internal if one of the submissions cannot be stored.
type Ledger interface {
	// Accept accepts submissions that are in no line yet.
	Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error)
	// AcceptAgain accepts each submission once, even if an earlier call with an
	// unknown outcome has accepted it.
	AcceptAgain(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error)
	// DigestKey returns the key of the digests, which never changes.
	DigestKey(ctx context.Context) (enroll.DigestKey, error)
}

// Options bound the intake.
type Options struct {
	Committers int // commits at once, each with runs of its own
	Waiting    int // submissions that may wait for a commit; each committer has an equal share
	Batch      int // submissions in one commit
	// CommitTimeout is the total time for all attempts to commit a batch; each
	// attempt gets half of it. It is also the longest that a submission may wait
	// until its commit begins.
	CommitTimeout time.Duration
}

// Intake accepts submissions. Run must be running for Accept to return.
type Intake struct {
	ledger  Ledger
	options Options
	notify  func(enroll.Bundle)
	queues  []*queue // one per committer
	log     *slog.Logger
	outage  *outage.Log
	metrics metrics
	digests digests
}

// pending is a submission that waits to be accepted.
type pending struct {
	enroll.Submission
	since time.Time
	// repeats are later submissions of the same batch with the same
	// IdempotencyKey. They wait for the result of this one.
	repeats []*pending
	result  chan enroll.AcceptResult // has room for one
}

// New returns an intake that accepts into ledger. It calls notify, which must
// not block, for every bundle that was committed.
func New(ledger Ledger, o Options, notify func(enroll.Bundle), log *slog.Logger, reg prometheus.Registerer) *Intake {
	in := &Intake{ledger: ledger, options: o, notify: notify, log: log}
	in.outage = outage.New(log, slog.LevelError, "requests cannot be accepted", "requests can be accepted again")
	for range o.Committers {
		in.queues = append(in.queues, newQueue(max(o.Waiting/o.Committers, 1), o.Batch, o.CommitTimeout/2))
	}
	in.metrics = newMetrics(reg, in.Waiting)
	return in
}

// Accept waits until the submission is committed and returns its receipt.
//
// An error has one of these codes:
//   - NotFound, RunNotOpen, RunClosed: there is no ticket to be had.
//   - KeyReused: the IdempotencyKey belongs to another submission.
//   - Corrected: the registration that the IdempotencyKey belongs to has another
//     address since.
//   - Busy: too many submissions wait, or this one would wait too long.
//   - Unavailable, LineBlocked: the ledger, or this line, accepts nothing now.
//   - Internal: the submission cannot be stored.
//   - OutcomeUnknown: it may have been accepted, and then under the ID of the
//     receipt. With an IdempotencyKey the receipt has no ID, since an earlier
//     submission may have got the registration; sending the same again tells.
//
// The end of ctx never cancels a commit: it gives an OutcomeUnknown, too.
func (in *Intake) Accept(ctx context.Context, sub enroll.Submission) (enroll.Receipt, error) {
	if sub.Kind == enroll.Register && sub.IdempotencyKey != "" {
		key, err := in.digests.key(ctx, in.ledger, in.options.CommitTimeout/2)
		if err != nil {
			in.metrics.refused.WithLabelValues(string(enroll.CodeOf(err))).Inc()
			return enroll.Receipt{}, err
		}
		sub.Digest = key.Digest(sub)
	}
	p := &pending{Submission: sub, since: time.Now(), result: make(chan enroll.AcceptResult, 1)}
	if !in.queueOf(sub.Run).add(p) {
		in.metrics.refused.WithLabelValues(string(enroll.Busy)).Inc()
		return enroll.Receipt{}, errBusy
	}
	select {
	case result := <-p.result:
		return result.Receipt, result.Err
	case <-ctx.Done():
		return possibleReceipt(sub), &enroll.Error{Code: enroll.OutcomeUnknown, Err: ctx.Err()}
	}
}

// queueOf returns the queue of the run. No other queue has submissions for its
// line, so commits do not wait for each other's.
func (in *Intake) queueOf(run string) *queue {
	h := fnv.New32a()
	_, _ = h.Write([]byte(run))
	return in.queues[h.Sum32()%uint32(len(in.queues))]
}

// Waiting returns how many submissions wait for their commit to begin.
func (in *Intake) Waiting() int {
	n := 0
	for _, q := range in.queues {
		n += len(q.waiting)
	}
	return n
}

// Run commits what arrives until ctx ends, and then what is still waiting.
func (in *Intake) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, q := range in.queues {
		g.Go(func() error {
			for all := range q.batches(ctx) {
				if batch := foldRepeats(in.refuseLate(all)); len(batch) > 0 {
					q.measure(func() { in.commit(batch) })
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// errBusy says that nothing was accepted.
var errBusy = enroll.Errorf(enroll.Busy, "too many requests are waiting: try again in a moment")

// refuseLate refuses the submissions that have waited for too long, and returns
// the others. The queues refuse what they can see would wait too long, so these
// came before commits became slow.
func (in *Intake) refuseLate(batch []*pending) []*pending {
	return slices.DeleteFunc(batch, func(p *pending) bool {
		late := time.Since(p.since) > in.options.CommitTimeout
		if late {
			in.answer(p, enroll.AcceptResult{Err: errBusy})
		}
		return late
	})
}
