package intake

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/lastseat/lastseat/internal/batch"
)

// queue holds the submissions that wait for one committer. It is bounded by its
// length, and by the time for which its last submission would wait.
type queue struct {
	waiting   chan *pending
	batchSize int           // the most submissions in one commit
	maxAhead  time.Duration // the longest that the commits before that of a new submission may take

	// In nanoseconds. They are written one by one, so those who read them may see
	// values that are a commit apart.
	commitStarted      atomic.Int64 // when the commit under way began, since epoch; 0 = there is none
	lastTook, prevTook atomic.Int64 // how long the last two commits took
}

// epoch is an instant of this process. A change of the clock does not move
// instants that are counted from it.
var epoch = time.Now()

func newQueue(length, batchSize int, maxAhead time.Duration) *queue {
	return &queue{waiting: make(chan *pending, length), batchSize: batchSize, maxAhead: maxAhead}
}

// batches yields what waits, one batch after the other, until ctx has ended and
// nothing is left.
func (q *queue) batches(ctx context.Context) iter.Seq[[]*pending] {
	return batch.Each(ctx, q.waiting, q.batchSize)
}

// add returns false if there is no room for the submission.
func (q *queue) add(p *pending) bool {
	if len(q.waiting) >= q.capacity() {
		return false
	}
	select {
	case q.waiting <- p:
		return true
	default:
		return false
	}
}

// capacity returns how many submissions may wait, so that the commits before
// that of the last one take no longer than maxAhead. A batch for the very next
// commit may always wait. To refuse those would make nothing faster, and while
// commits are slow nothing would show that they are fast again.
func (q *queue) capacity() int {
	each := q.commitTime()
	ahead := each // what is left of the commit under way is taken to be as long as it took so far
	if started := q.commitStarted.Load(); started != 0 {
		ahead = max(ahead, time.Since(epoch)-time.Duration(started))
	}
	further := max(q.maxAhead-ahead, 0) / max(each, time.Microsecond)
	return int(min(int64(q.batchSize)*(1+int64(further)), int64(cap(q.waiting))))
}

// commitTime returns how long a commit takes at present. One slow commit among
// fast ones does not count: the submissions behind it are accepted soon.
func (q *queue) commitTime() time.Duration {
	return time.Duration(min(q.lastTook.Load(), q.prevTook.Load()))
}

// measure runs a commit and notes how long it took.
func (q *queue) measure(commit func()) {
	started := time.Since(epoch)
	q.commitStarted.Store(int64(max(started, 1)))
	commit()
	q.prevTook.Store(q.lastTook.Load())
	q.lastTook.Store(int64(time.Since(epoch) - started))
	q.commitStarted.Store(0)
}
