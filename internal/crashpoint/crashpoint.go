// Package crashpoint names the places at which a process can die with something
// half done, and lets a test have it die there.
//
// Only programs that are built with the tag crashpoints know how to: without it,
// Here is empty and nothing of this package is in a program. It must not know what
// anybody does at the places that it names.
package crashpoint

// Point is a place at which a process may die.
type Point string

// Variable is the environment variable that names the point at which a process
// dies; with ":n" behind it, when it comes there for the n-th time. Programs
// without crash points refuse to start with it, like with every variable of ours
// that they do not know.
const Variable = "LASTSEAT_CRASH_AT"

// Accepting, in an API process.
const (
	// AcceptBegun: requests were gathered, and nothing of them has been sent to
	// Postgres.
	AcceptBegun Point = "accept-begun"
	// AcceptCommitted: requests are in their lines, nobody was told, and no worker
	// was notified.
	AcceptCommitted Point = "accept-committed"
	// AcceptNotified: the sender knows of them, and nobody was told.
	AcceptNotified Point = "accept-notified"
)

// Notifying workers, in every process that puts requests into lines.
const (
	// NotifyBegun: the sender has a bundle, which is not on its run's queue.
	NotifyBegun Point = "notify-begun"
	// NotifyEnqueued: the bundle is on the queue, and no worker was woken.
	NotifyEnqueued Point = "notify-enqueued"
)

// Lanes and settling, in a worker.
const (
	// LaneLocked: the run's lock was taken, and nobody serves its queue.
	LaneLocked Point = "lane-locked"
	// SettleRead: the rows of the runs are locked and their next requests read,
	// and nothing is written.
	SettleRead Point = "settle-read"
	// SettleCommitted: requests are decided, and that is not announced.
	SettleCommitted Point = "settle-committed"
	// SettleMore: a transaction is done and the next one is to follow, as between
	// two steps of a request that moves many people.
	SettleMore Point = "settle-more"
	// TaskServed: what a task announced is decided, and the task is not
	// acknowledged.
	TaskServed Point = "task-served"
	// LaneEnded: the lane settles nothing any more, and its lock is held.
	LaneEnded Point = "lane-ended"
	// LaneReleased: the lock was given back, and nobody has looked at the line
	// since.
	LaneReleased Point = "lane-released"
	// LanesLeft: a worker that was told to stop has given up its lanes, and the
	// others do not know.
	LanesLeft Point = "lanes-left"
)

// Ending waiting lists, in a worker.
const (
	// ListEndAccepted: the end of a waiting list is in its line, and no worker was
	// notified.
	ListEndAccepted Point = "list-end-accepted"
)

// Mail, in a worker.
const (
	// RoundWritten: reminders or notices of a change, some of those that are due,
	// are in the outbox, and none is on the queue.
	RoundWritten Point = "round-written"
	// RelayDue: a mail that is due was found, and it is not on the queue.
	RelayDue Point = "relay-due"
	// RelayEnqueued: mails are on the queue, and that is not noted.
	RelayEnqueued Point = "relay-enqueued"
	// MailTaken: a mail's task was taken from the queue, and the mail is not
	// claimed.
	MailTaken Point = "mail-taken"
	// MailClaimed: an attempt is this worker's, and the mail server has heard
	// nothing of it.
	MailClaimed Point = "mail-claimed"
	// MailSent: the attempt was made, and how it ended is not noted.
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
