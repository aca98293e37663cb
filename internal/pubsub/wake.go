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
	// Released says that the worker that had the run's lane has given it up,
	// whatever other workers remember.
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

// parseWake reads what message returned, and nothing else.
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

// PublishWake wakes the workers for a run, and returns whether any has heard
// it.
func PublishWake(ctx context.Context, c redis.UniversalClient, w Wake) (heard bool, err error) {
	n, err := c.Publish(ctx, wakeChannel, w.message()).Result()
	return n > 0, err
}

// ListenWake calls receive for every wake-up until ctx ends, and connected
// whenever the subscription was made anew: messages before that may be lost.
func ListenWake(ctx context.Context, c redis.UniversalClient, log *slog.Logger, connected func(), receive func(Wake)) error {
	return listen(ctx, c, wakeChannel, log, connected, func(message string) error {
		w, err := parseWake(message)
		if err == nil {
			receive(w)
		}
		return err
	})
}
