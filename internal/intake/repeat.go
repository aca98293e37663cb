package intake

import (
	"github.com/lastseat/lastseat/internal/enroll"
)

// foldRepeats attaches each submission with an IdempotencyKey to the first one
// of the batch with the same key, if there is one, so that no two are in one
// commit. Each keeps its content and its rights: nothing of one reaches
// another.
func foldRepeats(all []*pending) []*pending {
	type key struct{ run, key string }
	firsts := make(map[key]*pending)
	batch := all[:0:0]
	for _, p := range all {
		if p.IdempotencyKey != "" {
			k := key{p.Run, p.IdempotencyKey}
			if first := firsts[k]; first != nil {
				first.repeats = append(first.repeats, p)
				continue
			}
			firsts[k] = p
		}
		batch = append(batch, p)
	}
	return batch
}

// answer answers the submission and its repeats. It returns the repeats that
// the result says nothing about: the submission was refused for a reason that
// does not apply to them, and their key is still free.
func (in *Intake) answer(p *pending, result enroll.AcceptResult) (open []*pending) {
	in.send(p, result)
	code := enroll.CodeOf(result.Err)
	for _, repeat := range p.repeats {
		own := result
		own.Receipt.Again = true
		switch {
		case code == enroll.OutcomeUnknown && !sameContent(p, repeat):
			own.Err = enroll.ErrKeyReused
		case refusedAlone(code, p, repeat):
			open = append(open, repeat)
			continue
		}
		in.send(repeat, own)
	}
	p.repeats = nil
	return open
}

// refusedAlone returns whether p was refused for a reason that may not apply to
// the repeat. A refusal for what they have in common is one for both, so that a
// key that comes with a thousand bodies does not make a thousand commits.
func refusedAlone(code enroll.Code, p, repeat *pending) bool {
	switch code {
	case "", enroll.OutcomeUnknown, enroll.Busy, enroll.Unavailable, enroll.LineBlocked:
		return false
	case enroll.Internal:
		return !sameContent(p, repeat)
	default:
		return p.ByOrganiser != repeat.ByOrganiser || p.OutsideWindow != repeat.OutsideWindow || p.Shown != repeat.Shown
	}
}

// sameContent returns whether two submissions with the same key have the same
// content. Those whose key Lastseat made itself always do.
func sameContent(a, b *pending) bool { return a.Digest == b.Digest }

// send counts the result and hands it to the caller that waits for it.
func (in *Intake) send(p *pending, result enroll.AcceptResult) {
	if result.Err == nil {
		result.Receipt, result.Err = result.Receipt.CheckAgainst(p.Submission)
	}
	switch {
	case result.Err != nil:
		in.metrics.refused.WithLabelValues(string(enroll.CodeOf(result.Err))).Inc()
	case !result.Receipt.Again:
		in.metrics.accepted.Inc()
	}
	p.result <- result
}
