package pubsub

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/enroll"
)

const (
	// maxAnnouncements is the most messages that wait to be published.
	maxAnnouncements = 4096

	// publishBatch is the most messages published in one round trip.
	publishBatch = 256

	publishTimeout = time.Second
)

// Settled says that the tickets First to Last of a run are decided or have
// changed, so held polls for them should be read.
type Settled struct {
	RunID       enroll.RunID
	First, Last int64
}

// message returns the message in the form in which it is published.
func (s Settled) message() string { return fmt.Sprintf("%d %d %d", s.RunID, s.First, s.Last) }

// parseSettled parses a message that Settled.message returned, and refuses
// every other form.
func parseSettled(message string) (s Settled, err error) {
	if _, err := fmt.Sscanf(message, "%d %d %d", &s.RunID, &s.First, &s.Last); err != nil {
		return Settled{}, errMalformed
	}
	if s.RunID < 1 || s.First < 1 || s.Last < s.First || s.message() != message {
		return Settled{}, errMalformed
	}
	return s, nil
}

// Announcer publishes Settled messages in the background.
type Announcer struct {
	client  redis.UniversalClient
	waiting chan Settled
}

// NewAnnouncer returns an announcer. Run must be running for it to publish.
func NewAnnouncer(c redis.UniversalClient) *Announcer {
	return &Announcer{client: c, waiting: make(chan Settled, maxAnnouncements)}
}

// Announce has the message published soon. It never blocks: if Redis is too
// slow, it drops the message, and the listeners find out by themselves.
func (a *Announcer) Announce(s Settled) {
	select {
	case a.waiting <- s:
	default:
	}
}

// Run publishes messages until ctx ends, and then those that still wait.
func (a *Announcer) Run(ctx context.Context) error {
	for messages := range batch.Each(ctx, a.waiting, publishBatch) {
		// Not cancelled with ctx, so that the last messages are published, too.
		publishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
		_, _ = a.client.Pipelined(publishing, func(p redis.Pipeliner) error {
			for _, s := range messages {
				p.Publish(publishing, settledChannel, s.message())
			}
			return nil
		}) // messages may be lost; see the package comment
		cancel()
	}
	return nil
}

// ListenSettled calls receive for every message until ctx ends. It calls
// connected after each new subscription: earlier messages may be lost.
func ListenSettled(ctx context.Context, c redis.UniversalClient, log *slog.Logger, connected func(), receive func(Settled)) error {
	return listen(ctx, c, settledChannel, log, connected, func(message string) error {
		s, err := parseSettled(message)
		if err == nil {
			receive(s)
		}
		return err
	})
}
