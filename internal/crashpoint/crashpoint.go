// Package crashpoint names the steps at which a process can die with something
// half done, and lets a test kill it there.
//
// Only programs that are built with the tag crashpoints can: without it, Here
// is empty, and nothing of this package is in a program. The package must not
// know what happens at the steps that it names.
package crashpoint

// Point is a step at which a process may die.
type Point string

// Variable is the environment variable that names the point at which a process
// dies; "name:n" means the n-th time that it gets there. Programs without crash
// points refuse to start with it, as with every unknown LASTSEAT_ variable.
const Variable = "LASTSEAT_CRASH_AT"

// Accepting, in an API process.
const (
	// AcceptBegun: a batch was taken, and nothing has been sent to Postgres.
	AcceptBegun Point = "accept-begun"
	// AcceptCommitted: the requests are in their lines, but no client has an
	// answer, and no worker was notified.
	AcceptCommitted Point = "accept-committed"
	// AcceptNotified: the sender has the bundles, but no client has an answer.
	AcceptNotified Point = "accept-notified"
)

// Notifying workers, in every process that puts requests into lines.
const (
	// NotifyBegun: the sender has a bundle, but its task is not on the run's
	// queue.
	NotifyBegun Point = "notify-begun"
	// NotifyEnqueued: the task is on the queue, but no worker was woken.
	NotifyEnqueued Point = "notify-enqueued"
)

// Lanes and settling, in a worker.
const (
	// LaneLocked: the lane lock is taken, but no server serves the queue.
	LaneLocked Point = "lane-locked"
	// SettleRead: the rows of the runs are locked and the next requests read,
	// but nothing is written.
	SettleRead Point = "settle-read"
	// SettleCommitted: requests are decided, but that is not announced.
	SettleCommitted Point = "settle-committed"
	// SettleMore: a transaction is done and the next one follows, for instance
	// between two steps of a request that moves many people.
	SettleMore Point = "settle-more"
	// TaskServed: the tickets of a task are decided, but the task is not
	// acknowledged.
	TaskServed Point = "task-served"
	// LaneEnded: the lane settles nothing any more, but its lock is still held.
	LaneEnded Point = "lane-ended"
	// LaneReleased: the lock is released, and the worker has not looked at the
	// line since.
	LaneReleased Point = "lane-released"
	// LanesLeft: a worker that was told to stop has given up its lanes, but the
	// other workers do not know.
	LanesLeft Point = "lanes-left"
)

// Ending waiting lists, in a worker.
const (
	// ListEndAccepted: the end of a waiting list is in its line, but no worker
	// was notified.
	ListEndAccepted Point = "list-end-accepted"
)

// Mail, in a worker.
const (
	// RoundWritten: a part of a round's mails is in the outbox, but none is on
	// the queue.
	RoundWritten Point = "round-written"
	// RelayDue: a due mail was found, but it is not on the queue.
	RelayDue Point = "relay-due"
	// RelayEnqueued: mails are on the queue, but that is not noted.
	RelayEnqueued Point = "relay-enqueued"
	// MailTaken: a mail's task was taken from the queue, but the mail is not
	// claimed.
	MailTaken Point = "mail-taken"
	// MailClaimed: the mail is claimed, but the mail server has heard nothing
	// of it.
	MailClaimed Point = "mail-claimed"
	// MailSent: the attempt was made, but its result is not noted.
	MailSent Point = "mail-sent"
	// MailNoted: how it ended is noted, and the task is not acknowledged.
	MailNoted Point = "mail-noted"
)

// All returns every point, in the order in which a request passes them.
func All() []Point {
	return []Point{
		AcceptBegun, AcceptCommitted, AcceptNotified,
		NotifyBegun, NotifyEnqueued,
		LaneLocked, SettleRead, SettleCommitted, SettleMore, TaskServed, LaneEnded, LaneReleased, LanesLeft,
		ListEndAccepted,
		RoundWritten, RelayDue, RelayEnqueued, MailTaken, MailClaimed, MailSent, MailNoted,
	}
}
