package intake

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/lastseat/lastseat/internal/batch"
)

// queue is what waits for one committer. It is bounded by its length, and by
// the time that who comes last would wait.
type queue struct {
	waiting   chan *waiting
	batchSize int           // the most submissions in one transaction
	patience  time.Duration // the longest that commits ahead may take

	// In nanoseconds. Whoever joins reads them one by one: they need not fit
	// together to the microsecond.
	began        atomic.Int64 // when the commit under way began, since epoch; 0 = there is none
	last, before atomic.Int64 // how long the last commit took, and the one before it
}

// epoch is an instant of this process. Instants that are counted from it are not
// moved when the clock is set.
var epoch = time.Now()

func newQueue(length, batchSize int, patience time.Duration) *queue {
	return &queue{waiting: make(chan *waiting, length), batchSize: batchSize, patience: patience}
}

// batches yields what waits, one batch after the other, until ctx has ended and
// nothing is left.
func (q *queue) batches(ctx context.Context) iter.Seq[[]*waiting] {
	return batch.Each(ctx, q.waiting, q.batchSize)
}

// join tells whether there was room.
func (q *queue) join(w *waiting) bool {
	if len(q.waiting) >= q.room() {
		return false
	}
	select {
	case q.waiting <- w:
		return true
	default:
		return false
	}
}

// room returns how many may wait: so many that the commits ahead of the last one
// take no longer than the patience. Those that fit into the very next commit
// always may. To send them away would make nothing faster, and while commits are
// slow nobody would find out that they are fast again.
func (q *queue) room() int {
	pace := q.pace()
	ahead := pace // what is left of the commit under way: as long again as it took so far
	if began := q.began.Load(); began != 0 {
		ahead = max(ahead, time.Since(epoch)-time.Duration(began))
	}
	further := max(q.patience-ahead, 0) / max(pace, time.Microsecond)
	return int(min(int64(q.batchSize)*(1+int64(further)), int64(cap(q.waiting))))
}

// pace is how long a commit takes at present. A slow one among fast ones does
// not count: whoever gathers behind it is soon accepted.
func (q *queue) pace() time.Duration { return time.Duration(min(q.last.Load(), q.before.Load())) }

// measure runs a commit.
func (q *queue) measure(commit func()) {
	began := time.Since(epoch)
	q.began.Store(int64(max(began, 1)))
	commit()
	q.before.Store(q.last.Load())
	q.last.Store(int64(time.Since(epoch) - began))
	q.began.Store(0)
}
