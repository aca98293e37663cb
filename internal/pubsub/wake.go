package pubsub

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Wake says that a run's line has requests to settle.
type Wake struct {
	RunID enroll.RunID
	Run   string // the run's slug
	// Released says that the worker with the run's lane has given it up, so
	// that others forget that they saw it taken.
	Released bool
}

// message returns the wake-up in the form in which it is published.
func (w Wake) message() string {
	released := 0
	if w.Released {
		released = 1
	}
	return fmt.Sprintf("%d %s %d", w.RunID, w.Run, released)
}

// parseWake parses a message that Wake.message returned, and refuses every
// other form.
func parseWake(message string) (w Wake, err error) {
	var released int
	if _, err := fmt.Sscanf(message, "%d %s %d", &w.RunID, &w.Run, &released); err != nil {
		return Wake{}, errMalformed
	}
	if _, err := enroll.ParseSlug(w.Run); err != nil {
		return Wake{}, errMalformed
	}
	w.Released = released == 1
	if w.RunID < 1 || w.message() != message {
		return Wake{}, errMalformed
	}
	return w, nil
}

// PublishWake wakes the workers for a run. It returns whether any worker was
// subscribed.
func PublishWake(ctx context.Context, c redis.UniversalClient, w Wake) (heard bool, err error) {
	n, err := c.Publish(ctx, wakeChannel, w.message()).Result()
	return n > 0, err
}

// ListenWake calls receive for every wake-up until ctx ends. It calls connected
// after each new subscription: earlier wake-ups may be lost.
func ListenWake(ctx context.Context, c redis.UniversalClient, log *slog.Logger, connected func(), receive func(Wake)) error {
	return listen(ctx, c, wakeChannel, log, connected, func(message string) error {
		w, err := parseWake(message)
		if err == nil {
			receive(w)
		}
		return err
	})
}
