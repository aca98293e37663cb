package intake

import (
	"context"
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
)

// commit answers every submission of the batch.
func (in *Intake) commit(batch []*pending) {
	submissions := make([]enroll.Submission, len(batch))
	for i, p := range batch {
		submissions[i] = p.Submission
	}
	start := time.Now()
	results, err := in.accept(submissions)
	in.metrics.commits.Observe(time.Since(start).Seconds())
	in.metrics.batches.Observe(float64(len(batch)))
	if err == nil {
		in.outage.Recovered()
		crashpoint.Here(crashpoint.AcceptCommitted)
		for _, b := range bundles(results) {
			in.notify(b) // first, so that settling begins while the answers are on their way
		}
		crashpoint.Here(crashpoint.AcceptNotified)
		in.answerAll(batch, func(i int) enroll.AcceptResult { return results[i] })
		return
	}
	if parts := split(batch, enroll.CodeOf(err)); len(batch) > 1 && len(parts) > 1 {
		in.log.Warn("a batch could not be committed: trying its parts one by one",
			"requests", len(batch), "parts", len(parts), "code", enroll.CodeOf(err), "error", err)
		for _, part := range parts {
			if rest := in.refuseLate(part); len(rest) > 0 { // the parts before it may have taken long
				in.commit(rest)
			}
		}
		return
	}
	about := []any{"requests", len(batch), "code", enroll.CodeOf(err)}
	if run := heldRun(batch, err); run != "" {
		about = append(about, "run", run)
	}
	in.outage.Failed(err, about...)
	in.answerAll(batch, func(i int) enroll.AcceptResult {
		return enroll.AcceptResult{Receipt: possibleReceipt(batch[i].Submission), Err: err}
	})
}

// heldRun returns the run whose line is held, "" if the error is another one. No
// other run is named: a client may have put the id of a registration in its place.
func heldRun(batch []*pending, err error) string {
	run := batch[0].Run
	if enroll.CodeOf(err) != enroll.LineBlocked || slices.ContainsFunc(batch, func(p *pending) bool { return p.Run != run }) {
		return ""
	}
	return run
}

// answerAll answers the batch, and commits the repeats that its results say
// nothing about.
func (in *Intake) answerAll(batch []*pending, result func(i int) enroll.AcceptResult) {
	var open []*pending
	for i, p := range batch {
		open = append(open, in.answer(p, result(i))...)
	}
	if open = in.refuseLate(open); len(open) > 0 {
		in.commit(foldRepeats(open))
	}
}

// split takes a batch apart so that trouble with one line or submission leaves
// the others alone: by run if a line is held, and in halves if a submission
// cannot be stored, until that one is by itself. Validation should have refused
// it.
func split(batch []*pending, code enroll.Code) [][]*pending {
	switch code {
	case enroll.LineBlocked:
		index := make(map[string]int)
		var byRun [][]*pending
		for _, p := range batch {
			i, ok := index[p.Run]
			if !ok {
				i = len(byRun)
				index[p.Run] = i
				byRun = append(byRun, nil)
			}
			byRun[i] = append(byRun[i], p)
		}
		return byRun
	case enroll.Internal:
		half := len(batch) / 2
		return [][]*pending{batch[:half], batch[half:]}
	default:
		return nil
	}
}

// accept commits the submissions. If the connection breaks during the commit,
// only accepting the same ids again tells how it ended: a lookup could come
// before the end of a commit that the server is still working on, while the
// second attempt waits for the locks of the first.
func (in *Intake) accept(submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), in.options.CommitTimeout)
	defer cancel()
	results, err := in.attempt(ctx, in.ledger.Accept, submissions)
	if enroll.CodeOf(err) != enroll.OutcomeUnknown {
		return results, err
	}
	unknown := err
	in.log.Warn("the outcome of a commit is unknown: committing the same requests again", "requests", len(submissions), "error", err)
	for wait := 20 * time.Millisecond; err != nil; wait = min(2*wait, 500*time.Millisecond) {
		select {
		case <-ctx.Done():
			return nil, unknown
		case <-time.After(wait):
		}
		results, err = in.attempt(ctx, in.ledger.AcceptAgain, submissions)
	}
	return results, nil
}

// attempt calls one of the ledger's two functions. It leaves time for another
// attempt, on another connection.
func (in *Intake) attempt(ctx context.Context, accept func(context.Context, []enroll.Submission) ([]enroll.AcceptResult, error),
	submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	ctx, cancel := context.WithTimeout(ctx, in.options.CommitTimeout/2)
	defer cancel()
	return accept(ctx, submissions)
}

// possibleReceipt returns the receipt of a submission that may have been
// accepted. With a key there is none: the line may have the request under
// another id.
func possibleReceipt(sub enroll.Submission) enroll.Receipt {
	if sub.IdempotencyKey != "" {
		return enroll.Receipt{}
	}
	return enroll.ReceiptFor(sub, enroll.Registration{ID: sub.ID})
}

// bundles returns the range of new tickets of each run.
func bundles(results []enroll.AcceptResult) []enroll.Bundle {
	var all []enroll.Bundle
	index := make(map[enroll.RunID]int)
	for _, result := range results {
		if result.Err != nil || result.Receipt.Again {
			continue
		}
		r := result.Receipt
		i, ok := index[r.RunID]
		if !ok {
			i = len(all)
			index[r.RunID] = i
			all = append(all, enroll.Bundle{RunID: r.RunID, Run: r.Run, First: r.Ticket})
		}
		all[i].Last = r.Ticket
	}
	return all
}
