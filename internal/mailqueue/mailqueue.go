// Package mailqueue takes mails from the outbox to the mail server, by way of
// the Asynq queue "mail".
//
// The outbox, a table, is the truth about what is still to be sent and when it
// is tried again; the queue, which may lose everything, only says when to look.
// The relay puts what is due on the queue; the deliverer, a server beside the lanes,
// claims one mail after the other, has it sent and notes how that ended. So a
// mail is sent at least once, and twice only if a worker dies between sending it
// and noting that. The package must not know what a mail says, nor SMTP.
package mailqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// QueueName is the name of the queue. No run's queue can have it.
const QueueName = "mail"

// sendTask is the type of the one task on the queue: make the next attempt to
// send a mail.
const sendTask = "mail:send"

// maxRetry is more than a task can need: it fails only while the outbox cannot
// be reached. A task that is out of retries would keep its id for months.
const maxRetry = 10_000

// relayAgain is after how long a mail that nobody has claimed is put on the queue
// again: Redis may have lost it.
const relayAgain = time.Minute

// activeAgain is the same for a mail whose task a server has taken: it claims the
// mail within this time, or it is a task that has ended without an attempt and is
// just being acknowledged.
const activeAgain = claimTimeout

// Outbox is where mails wait.
type Outbox interface {
	// MailsDue returns mails that wait to be sent now, the longest waiting
	// first.
	MailsDue(ctx context.Context, most int) ([]enroll.DueMail, error)
	// MailsRelayed notes that mails are on the queue: they are not due again
	// for d, unless they are claimed before. It changes nothing of a mail that is
	// no longer as it was read.
	MailsRelayed(ctx context.Context, relayed []enroll.DueMail, d time.Duration) error
	// ReplaceTasks notes that the tasks of mails are lost, and returns the mails
	// under their new names. It leaves out mails that are no longer as they were
	// read.
	ReplaceTasks(ctx context.Context, mails []enroll.DueMail) ([]enroll.DueMail, error)
	// MendDueTimes makes mails due whose times lie further in the future than
	// longest allows, because the clock was set back.
	MendDueTimes(ctx context.Context, longest enroll.MailWaits) (int, error)
	// ClaimMail makes an attempt the caller's, or returns an error of code
	// NotFound if there is none to be made now.
	ClaimMail(ctx context.Context, due enroll.DueMail, limits enroll.ClaimLimits) (enroll.Mail, error)
	// EndMailAttempt notes how an attempt ended.
	EndMailAttempt(ctx context.Context, id uuid.UUID, attempt int, end enroll.MailAttempt) error
	// WriteChanges writes notices of changed times and locations, of one run whose
	// window of at most so long is over.
	WriteChanges(ctx context.Context, window time.Duration, most int) (people int, found bool, err error)
	// WriteReminders writes reminders of one run that begins within before.
	WriteReminders(ctx context.Context, before time.Duration, most int) (seats int, found bool, err error)
	// MailBacklog returns what waits to be sent.
	MailBacklog(ctx context.Context) (enroll.MailBacklog, error)
}

// Options of a worker's relay and deliverer.
type Options struct {
	Server          string        // host:port of the mail server, for the log
	Concurrency     int           // mails being sent at once
	PerSecond       int           // mails begun in a second
	SendTimeout     time.Duration // the longest that one attempt may take
	RetryMin        time.Duration // after the first failed attempt; each further one doubles it, …
	RetryMax        time.Duration // … up to this
	GiveUpAfter     time.Duration // the age at which a failed attempt is the last
	ChangeWindow    time.Duration // from a change of time or location to its notices, at most
	Pace            time.Duration // in which only so many mails leave to one address: see enroll.ClaimLimits
	RemindBefore    time.Duration // how long before a run its reminders are sent; 0 = there are none
	Interval        time.Duration // between two looks of the relay
	ShutdownTimeout time.Duration // for the mails that are being sent; an attempt gets as long as it may take
}

// Common is what the relay and the deliverer of one worker have in common.
type Common struct {
	outbox  Outbox
	options Options
	log     *slog.Logger
	metrics *metrics
	blind   *outage.Log
	// away tells that the last attempt did not reach the mail server. Until one
	// does, the relay hands out one mail at a time, so that an outage costs
	// little and uses up nobody's patience.
	away atomic.Bool
}

// NewCommon returns the common part of a worker.
func NewCommon(outbox Outbox, o Options, log *slog.Logger, reg prometheus.Registerer) *Common {
	return &Common{
		outbox: outbox, options: o, log: log, metrics: newMetrics(reg),
		blind: outage.New(log, slog.LevelWarn, "the outbox cannot be reached: mails wait",
			"the outbox can be reached again: mails are sent"),
	}
}

// lease is for how long a claim makes an attempt this worker's. Another one may
// only begin when an attempt that began with the claim has ended, even if the
// answer to the claim was late.
func (o *Common) lease() time.Duration { return claimTimeout + 2*o.options.SendTimeout }

// payload is the JSON form of a due mail: no name and no address, since queues
// are shown to operators.
type payload struct {
	ID       uuid.UUID `json:"mail_id"`
	Attempts int       `json:"attempts"`
	Replaced int       `json:"replaced,omitempty"`
}

// taskID names the task for the next attempt of a mail: putting it on the queue
// twice makes one task. A task that was lost keeps its name taken, so the one in
// its place has another.
func taskID(due enroll.DueMail) string {
	id := due.ID.String() + ":" + strconv.Itoa(due.Attempts+1)
	if due.Replaced > 0 {
		id += ":" + strconv.Itoa(due.Replaced)
	}
	return id
}

// newTask returns the task for the next attempt of a mail and its options.
func newTask(due enroll.DueMail) (*asynq.Task, []asynq.Option) {
	body, err := json.Marshal(payload{due.ID, due.Attempts, due.Replaced})
	if err != nil {
		panic(err) // a UUID and two integers
	}
	return asynq.NewTask(sendTask, body), []asynq.Option{
		asynq.Queue(QueueName),
		asynq.TaskID(taskID(due)),
		asynq.MaxRetry(maxRetry),
	}
}

func parseTask(t *asynq.Task) (enroll.DueMail, error) {
	var p payload
	if err := json.Unmarshal(t.Payload(), &p); err != nil {
		return enroll.DueMail{}, fmt.Errorf("reading a task: %w", err)
	}
	if t.Type() != sendTask || p.ID == uuid.Nil || !counted(p.Attempts) || !counted(p.Replaced) {
		return enroll.DueMail{}, fmt.Errorf("reading a task: type %q after %d attempts, replaced %d times, is not ours", t.Type(), p.Attempts, p.Replaced)
	}
	return enroll.DueMail{ID: p.ID, Attempts: p.Attempts, Replaced: p.Replaced}, nil
}

// counted tells whether the outbox can have counted so far.
func counted(n int) bool { return n >= 0 && n < math.MaxInt32 }
