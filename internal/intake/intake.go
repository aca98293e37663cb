// Package intake collects the submissions that arrive at one API process and
// commits them in batches.
//
// It owns the wait between a request and its commit: its bound, its order, what
// to do when a commit fails, and the answer to a repeated Idempotency-Key. It
// must not know HTTP, SQL or queues.
package intake

import (
	"context"
	"hash/fnv"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// Ledger accepts submissions in one transaction: all or none, in the order
// given. An error of code OutcomeUnknown means that it is not known which; any
// other that none was: LineBlocked because of one of the runs, Internal because of
// something in a submission.
type Ledger interface {
	// Accept is for submissions that are in no line yet.
	Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error)
	// AcceptAgain is for those whose earlier try has an unknown outcome: each is
	// accepted once.
	AcceptAgain(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error)
	// DigestKey returns the key of the digests, which never changes.
	DigestKey(ctx context.Context) (enroll.DigestKey, error)
}

// try is one of the two.
type try func(context.Context, []enroll.Submission) ([]enroll.AcceptResult, error)

// Options bound the intake.
type Options struct {
	Committers    int           // transactions at once, each with runs of its own
	Waiting       int           // submissions that may wait for one; shared evenly by the committers
	Batch         int           // submissions in one
	CommitTimeout time.Duration // after which the outcome is given up as unknown; half of it for one try. Nobody waits longer for a commit to begin
}

// Intake is the door to the lines. Run must be running for Accept to return.
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

// waiting is a submission on its way to a commit.
type waiting struct {
	enroll.Submission
	since time.Time
	// same holds later submissions of this batch with the same IdempotencyKey:
	// they wait for this one.
	same   []*waiting
	answer chan enroll.AcceptResult // has room for one
}

// New returns an intake that accepts into ledger and calls notify, which must not
// block, for every bundle that was committed.
func New(ledger Ledger, o Options, notify func(enroll.Bundle), log *slog.Logger, reg prometheus.Registerer) *Intake {
	in := &Intake{ledger: ledger, options: o, notify: notify, log: log}
	in.outage = outage.New(log, slog.LevelError, "requests are not accepted",
		"requests are accepted again")
	for range o.Committers {
		in.queues = append(in.queues, newQueue(max(o.Waiting/o.Committers, 1), o.Batch, o.CommitTimeout/2))
	}
	in.metrics = newMetrics(reg, in.Waiting)
	return in
}

// Accept waits until the submission is committed and returns its receipt.
//
// Its errors have the codes NotFound, RunNotOpen and RunClosed (no ticket was
// issued), KeyReused (the IdempotencyKey belongs to another submission),
// Corrected (what it belongs to has another address since), Busy (too many wait,
// or it would wait too long), Unavailable or LineBlocked (the
// ledger, or this line, does not take requests now), Internal (it cannot be
// stored) and OutcomeUnknown: if it was accepted, it has the ID of the receipt.
// With an IdempotencyKey the receipt has none, since an earlier submission may
// have got the registration: asking again tells. The same goes for the end of
// ctx, which never cancels a commit.
func (in *Intake) Accept(ctx context.Context, sub enroll.Submission) (enroll.Receipt, error) {
	if sub.Kind == enroll.Register && sub.IdempotencyKey != "" {
		key, err := in.digests.key(ctx, in.ledger, in.options.CommitTimeout/2)
		if err != nil {
			in.metrics.refused.WithLabelValues(string(enroll.CodeOf(err))).Inc()
			return enroll.Receipt{}, err
		}
		sub.Digest = key.Digest(sub)
	}
	w := &waiting{Submission: sub, since: time.Now(), answer: make(chan enroll.AcceptResult, 1)}
	h := fnv.New32a()
	_, _ = h.Write([]byte(sub.Run))
	if !in.queues[h.Sum32()%uint32(len(in.queues))].join(w) {
		in.metrics.refused.WithLabelValues(string(enroll.Busy)).Inc()
		return enroll.Receipt{}, errBusy
	}
	select {
	case result := <-w.answer:
		return result.Receipt, result.Err
	case <-ctx.Done():
		return perhaps(sub), &enroll.Error{Code: enroll.OutcomeUnknown, Err: ctx.Err()}
	}
}

// Waiting returns how many submissions wait for their commit to begin.
func (in *Intake) Waiting() int {
	n := 0
	for _, q := range in.queues {
		n += len(q.waiting)
	}
	return n
}

// Run commits what arrives until ctx ends, then what is still waiting.
func (in *Intake) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, q := range in.queues {
		g.Go(func() error {
			for all := range q.batches(ctx) {
				if batch := foldSame(in.inTime(all)); len(batch) > 0 {
					q.measure(func() { in.commit(batch) })
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// errBusy: nothing was accepted.
var errBusy = enroll.Errorf(enroll.Busy, "too many requests are waiting: try again in a moment")

// inTime returns those whose turn has come soon enough and sends the others
// away. The door leaves out whom it sees waiting that long; here are those for
// whom commits have become slow since.
func (in *Intake) inTime(all []*waiting) []*waiting {
	return slices.DeleteFunc(all, func(w *waiting) bool {
		late := time.Since(w.since) > in.options.CommitTimeout
		if late {
			in.give(w, enroll.AcceptResult{Err: errBusy})
		}
		return late
	})
}

// commit gives every submission of the batch its answer.
func (in *Intake) commit(batch []*waiting) {
	submissions := make([]enroll.Submission, len(batch))
	for i, w := range batch {
		submissions[i] = w.Submission
	}
	start := time.Now()
	results, err := in.accept(submissions)
	in.metrics.commits.Observe(time.Since(start).Seconds())
	in.metrics.batches.Observe(float64(len(batch)))
	if err == nil {
		in.outage.Recovered()
		crashpoint.Here(crashpoint.AcceptCommitted)
		for _, b := range bundles(results) {
			in.notify(b) // first: deciding begins while the answers are on their way
		}
		crashpoint.Here(crashpoint.AcceptNotified)
		in.giveAll(batch, func(i int) enroll.AcceptResult { return results[i] })
		return
	}
	if parts := split(batch, enroll.CodeOf(err)); len(batch) > 1 && len(parts) > 1 {
		in.log.Warn("requests were not accepted together: trying them apart", "requests", len(batch), "parts", len(parts), "code", enroll.CodeOf(err), "error", err)
		for _, part := range parts {
			if rest := in.inTime(part); len(rest) > 0 { // the parts before it may have taken long
				in.commit(rest)
			}
		}
		return
	}
	in.outage.Failed(err, "requests", len(batch), "code", enroll.CodeOf(err))
	in.giveAll(batch, func(i int) enroll.AcceptResult {
		return enroll.AcceptResult{Receipt: perhaps(batch[i].Submission), Err: err}
	})
}

// giveAll answers the batch, and commits those for whom its answers say
// nothing.
func (in *Intake) giveAll(batch []*waiting, result func(i int) enroll.AcceptResult) {
	var left []*waiting
	for i, w := range batch {
		left = append(left, in.give(w, result(i))...)
	}
	if left = in.inTime(left); len(left) > 0 {
		in.commit(foldSame(left))
	}
}

// split takes a batch apart so that one's trouble stays its own: by run if
// somebody holds a line, and in halves if something in it cannot be stored,
// until that stands alone. Validation should have refused it.
func split(batch []*waiting, code enroll.Code) [][]*waiting {
	switch code {
	case enroll.LineBlocked:
		at := make(map[string]int)
		var byRun [][]*waiting
		for _, w := range batch {
			i, seen := at[w.Run]
			if !seen {
				i = len(byRun)
				at[w.Run] = i
				byRun = append(byRun, nil)
			}
			byRun[i] = append(byRun[i], w)
		}
		return byRun
	case enroll.Internal:
		half := len(batch) / 2
		return [][]*waiting{batch[:half], batch[half:]}
	default:
		return nil
	}
}

// accept commits the submissions. When a connection breaks during the commit,
// only trying the same ids again tells how it ended: a lookup could come before
// a commit that the server is still working on, while the second try waits for
// the first one's locks.
func (in *Intake) accept(submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), in.options.CommitTimeout)
	defer cancel()
	results, err := in.tryOnce(ctx, in.ledger.Accept, submissions)
	if enroll.CodeOf(err) != enroll.OutcomeUnknown {
		return results, err
	}
	unknown := err
	in.log.Warn("a commit has an unknown outcome: trying the same requests again", "requests", len(submissions), "error", err)
	for wait := 20 * time.Millisecond; err != nil; wait = min(2*wait, 500*time.Millisecond) {
		select {
		case <-ctx.Done():
			return nil, unknown
		case <-time.After(wait):
		}
		results, err = in.tryOnce(ctx, in.ledger.AcceptAgain, submissions)
	}
	return results, nil
}

// tryOnce leaves time for a second try on another connection.
func (in *Intake) tryOnce(ctx context.Context, accept try, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	ctx, cancel := context.WithTimeout(ctx, in.options.CommitTimeout/2)
	defer cancel()
	return accept(ctx, submissions)
}

// perhaps is the receipt of a submission that may have been accepted. One with
// a key may stand in the line with another id.
func perhaps(sub enroll.Submission) enroll.Receipt {
	if sub.IdempotencyKey != "" {
		return enroll.Receipt{}
	}
	return enroll.ReceiptFor(sub, enroll.Registration{ID: sub.ID})
}

// bundles returns the range of new tickets of each run in the batch.
func bundles(results []enroll.AcceptResult) []enroll.Bundle {
	var all []enroll.Bundle
	at := make(map[enroll.RunID]int)
	for _, result := range results {
		if result.Err != nil || result.Receipt.Again {
			continue
		}
		r := result.Receipt
		i, seen := at[r.RunID]
		if !seen {
			i = len(all)
			at[r.RunID] = i
			all = append(all, enroll.Bundle{RunID: r.RunID, Run: r.Run, First: r.Ticket})
		}
		all[i].Last = r.Ticket
	}
	return all
}
