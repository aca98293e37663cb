// Package pubsub owns the two Redis channels by which processes tell each other
// that there is something to look at: wake (a run has new requests) and settled
// (some tickets of a run are decided).
//
// A message is a hint and may be lost; whoever listens has a slower way to find
// out. The package must not know what anybody does about a message.
package pubsub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/batch"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// The channels. The version stands for the form of the messages.
const (
	wakeChannel    = "lastseat:1:wake"
	settledChannel = "lastseat:1:settled"
)

// errNotOurs is that of a message that nobody of us has written.
var errNotOurs = errors.New("not a message of ours")

// Wake says that a run's line has requests to settle.
type Wake struct {
	RunID enroll.RunID
	Run   string // the run's slug
	// Released tells that the worker that owned the lane gave it up, whatever
	// others remember.
	Released bool
}

// message returns the wake-up as it travels.
func (w Wake) message() string {
	released := 0
	if w.Released {
		released = 1
	}
	return fmt.Sprintf("%d %s %d", w.RunID, w.Run, released)
}

// parseWake reads what message wrote, and nothing else.
func parseWake(message string) (w Wake, err error) {
	var released int
	if _, err := fmt.Sscanf(message, "%d %s %d", &w.RunID, &w.Run, &released); err != nil {
		return Wake{}, err
	}
	if _, err := enroll.ParseSlug(w.Run); err != nil {
		return Wake{}, err
	}
	w.Released = released == 1
	if w.RunID < 1 || w.message() != message {
		return Wake{}, errNotOurs
	}
	return w, nil
}

// PublishWake wakes the workers for a run, and tells whether any has heard it.
func PublishWake(ctx context.Context, c redis.UniversalClient, w Wake) (heard bool, err error) {
	n, err := c.Publish(ctx, wakeChannel, w.message()).Result()
	return n > 0, err
}

// ListenWake calls each for every wake-up until ctx ends, and connected whenever
// the subscription was made anew: messages before that may be lost.
func ListenWake(ctx context.Context, c redis.UniversalClient, log *slog.Logger, connected func(), each func(Wake)) error {
	return listen(ctx, c, wakeChannel, log, connected, func(payload string) error {
		w, err := parseWake(payload)
		if err == nil {
			each(w)
		}
		return err
	})
}

// Settled says that the tickets First to Last of a run are decided, or have become
// something else: whoever waits for one of them reads it.
type Settled struct {
	RunID       enroll.RunID
	First, Last int64
}

// message returns the message as it travels.
func (s Settled) message() string { return fmt.Sprintf("%d %d %d", s.RunID, s.First, s.Last) }

// parseSettled reads what message wrote, and nothing else.
func parseSettled(message string) (s Settled, err error) {
	if _, err := fmt.Sscanf(message, "%d %d %d", &s.RunID, &s.First, &s.Last); err != nil {
		return Settled{}, err
	}
	if s.RunID < 1 || s.First < 1 || s.Last < s.First || s.message() != message {
		return Settled{}, errNotOurs
	}
	return s, nil
}

// Announcer publishes Settled messages outside of everybody's wait.
type Announcer struct {
	client  redis.UniversalClient
	waiting chan Settled
}

// NewAnnouncer returns an announcer. Run must be running for it to publish.
func NewAnnouncer(c redis.UniversalClient) *Announcer {
	return &Announcer{client: c, waiting: make(chan Settled, 4096)}
}

// Announce publishes the message soon. If Redis is too slow for that, it drops
// it, and the listeners find out by looking.
func (a *Announcer) Announce(s Settled) {
	select {
	case a.waiting <- s:
	default:
	}
}

// Run publishes until ctx ends, then what is still waiting.
func (a *Announcer) Run(ctx context.Context) error {
	for all := range batch.Each(ctx, a.waiting, 256) {
		// Outlives ctx, so that the last decisions are told before the end.
		publishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_, _ = a.client.Pipelined(publishing, func(p redis.Pipeliner) error {
			for _, s := range all {
				p.Publish(publishing, settledChannel, s.message())
			}
			return nil
		}) // a lost message is legal: see the package
		cancel()
	}
	return nil
}

// ListenSettled calls each for every message until ctx ends, and connected
// whenever the subscription was made anew: messages before that may be lost.
func ListenSettled(ctx context.Context, c redis.UniversalClient, log *slog.Logger, connected func(), each func(Settled)) error {
	return listen(ctx, c, settledChannel, log, connected, func(payload string) error {
		s, err := parseSettled(payload)
		if err == nil {
			each(s)
		}
		return err
	})
}

// silence is how long a subscription may be silent before it is asked whether it
// is alive; after another such time without an answer it is made anew. The
// library's own check only sees a connection that refuses what is written.
const silence = 2 * time.Second

func listen(ctx context.Context, c redis.UniversalClient, channel string, log *slog.Logger, connected func(), each func(string) error) error {
	away := outage.New(log.With("channel", channel), slog.LevelWarn, "there is no subscription to Redis: looking takes its place",
		"there is a subscription to Redis again")
	for {
		err := subscribe(ctx, c, channel, log, func() {
			away.Recovered()
			connected()
		}, each)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it ends because it was told to
		}
		away.Failed(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// subscribe listens until the subscription is lost.
func subscribe(ctx context.Context, c redis.UniversalClient, channel string, log *slog.Logger, connected func(), each func(string) error) error {
	sub := c.Subscribe(ctx, channel)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // the library's read does not end with ctx
	for asked := false; ; {
		message, err := sub.ReceiveTimeout(ctx, silence)
		if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() && !asked && ctx.Err() == nil {
			asked = true
			if err := sub.Ping(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		asked = false
		switch m := message.(type) {
		case *redis.Subscription:
			connected()
		case *redis.Message:
			if err := each(m.Payload); err != nil {
				log.Warn("a message on a Redis channel is not ours", "channel", channel, "bytes", len(m.Payload))
			}
		}
	}
}
