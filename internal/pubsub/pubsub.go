// Package pubsub owns the two Redis channels between processes: wake says that
// a run has new requests, and settled says that tickets of a run are decided.
//
// A message is a hint and may be lost; every listener has a slower way to find
// out. The package must not know what a listener does with a message.
package pubsub

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/outage"
)

// The channels. Their names hold the version of the message format.
const (
	wakeChannel    = "lastseat:1:wake"
	settledChannel = "lastseat:1:settled"
)

const (
	// silenceLimit is how long a subscription may be silent before it is
	// pinged. After the same time without an answer, listen subscribes again.
	// go-redis's own check notices only a connection that refuses writes.
	silenceLimit = 2 * time.Second

	resubscribeInterval = 250 * time.Millisecond
)

// errMalformed means that this package did not write the message.
var errMalformed = errors.New("the message is malformed")

// listen calls receive for every message on the channel until ctx ends. It
// calls connected after each new subscription.
func listen(ctx context.Context, c redis.UniversalClient, channel string, log *slog.Logger, connected func(), receive func(string) error) error {
	lost := outage.New(log.With("channel", channel), slog.LevelWarn, "the subscription to Redis is lost; polling takes its place",
		"the subscription to Redis is back")
	for {
		err := subscribe(ctx, c, channel, log, func() {
			lost.Recovered()
			connected()
		}, receive)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a clean stop
		}
		lost.Failed(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(resubscribeInterval):
		}
	}
}

// subscribe listens until the subscription is lost.
func subscribe(ctx context.Context, c redis.UniversalClient, channel string, log *slog.Logger, connected func(), receive func(string) error) error {
	sub := c.Subscribe(ctx, channel)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // go-redis's read does not end with ctx
	for asked := false; ; {
		message, err := sub.ReceiveTimeout(ctx, silenceLimit)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && !asked && ctx.Err() == nil {
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
			if err := receive(m.Payload); err != nil {
				log.Warn("ignored a malformed message on a Redis channel", "channel", channel, "bytes", len(m.Payload))
			}
		}
	}
}
