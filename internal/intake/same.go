package intake

import (
	"github.com/lastseat/lastseat/internal/enroll"
)

// foldSame attaches repetitions of an IdempotencyKey to the first one of the
// batch, so that no two travel together. Each keeps what it says and what it
// may: nothing of one reaches another.
func foldSame(all []*waiting) []*waiting {
	type key struct{ run, key string }
	first := make(map[key]*waiting)
	batch := all[:0:0]
	for _, w := range all {
		if w.IdempotencyKey != "" {
			k := key{w.Run, w.IdempotencyKey}
			if f := first[k]; f != nil {
				f.same = append(f.same, w)
				continue
			}
			first[k] = w
		}
		batch = append(batch, w)
	}
	return batch
}

// give answers the submission and those that were folded into it. It returns
// those for whom the result says nothing: this one was refused for what is its
// own, and their key is still free.
func (in *Intake) give(w *waiting, result enroll.AcceptResult) (left []*waiting) {
	in.tell(w, result)
	code := enroll.CodeOf(result.Err)
	for _, each := range w.same {
		own := result
		own.Receipt.Again = true
		switch {
		case code == enroll.OutcomeUnknown && !sameWords(w, each):
			own.Err = enroll.ErrKeyReused
		case refusedForItself(code, w, each):
			left = append(left, each)
			continue
		}
		in.tell(each, own)
	}
	w.same = nil
	return left
}

// refusedForItself tells whether w was refused for something that each has not. A
// result on what both have in common is one for both: a key that comes with a
// thousand bodies does not make a thousand commits.
func refusedForItself(code enroll.Code, w, each *waiting) bool {
	switch code {
	case "", enroll.OutcomeUnknown, enroll.Busy, enroll.Unavailable, enroll.LineBlocked:
		return false
	case enroll.Internal:
		return !sameWords(w, each)
	default:
		return w.ByOrganiser != each.ByOrganiser || w.OutsideWindow != each.OutsideWindow || w.Shown != each.Shown
	}
}

// sameWords tells whether two submissions with one key say the same. Those with
// a key of ours do.
func sameWords(a, b *waiting) bool { return a.Digest == b.Digest }

// tell answers one submission.
func (in *Intake) tell(w *waiting, result enroll.AcceptResult) {
	if result.Err == nil {
		result.Receipt, result.Err = result.Receipt.CheckAgainst(w.Submission)
	}
	switch {
	case result.Err != nil:
		in.metrics.refused.WithLabelValues(string(enroll.CodeOf(result.Err))).Inc()
	case !result.Receipt.Again:
		in.metrics.accepted.Inc()
	}
	w.answer <- result
}
