package pubsub_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	testwait.Main(m)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

var quiet = slog.New(slog.DiscardHandler)

// background runs f until the test ends.
func background(t *testing.T, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	return testwait.Receive(t, "something comes", ch)
}

func TestWake(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	connected, wakes := make(chan struct{}, 10), make(chan pubsub.Wake, 10)
	background(t, func(ctx context.Context) error {
		return pubsub.ListenWake(ctx, c, quiet, func() { connected <- struct{}{} }, func(w pubsub.Wake) { wakes <- w })
	})
	next(t, connected)
	for _, want := range []pubsub.Wake{{RunID: 7, Run: "go-1"}, {RunID: 2147483647, Run: "a", Released: true}} {
		if _, err := pubsub.PublishWake(t.Context(), c, want); err != nil {
			t.Fatal(err)
		}
		if got := next(t, wakes); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}

	t.Run("ignores malformed messages", func(t *testing.T) {
		for _, bad := range []string{"", "x", "1", "1 UPPER 0", "99999999999 a 0", "1 a", "0 a 0", "-1 a 0", "1 a 2", "1 a 0 0", "+1 a 0", " 1 a 0"} {
			if err := c.Publish(t.Context(), "lastseat:1:wake", bad).Err(); err != nil {
				t.Fatal(err)
			}
		}
		want := pubsub.Wake{RunID: 3, Run: "b"}
		if _, err := pubsub.PublishWake(t.Context(), c, want); err != nil {
			t.Fatal(err)
		}
		if got := next(t, wakes); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})

	t.Run("subscribes again after a lost connection, and calls connected", func(t *testing.T) {
		server.Kill()
		server.Restart()
		next(t, connected)
		want := pubsub.Wake{RunID: 4, Run: "c"}
		if _, err := pubsub.PublishWake(t.Context(), server.Client(), want); err != nil {
			t.Fatal(err)
		}
		if got := next(t, wakes); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestSettled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	connected, messages := make(chan struct{}, 10), make(chan pubsub.Settled, 10)
	background(t, func(ctx context.Context) error {
		return pubsub.ListenSettled(ctx, c, quiet, func() { connected <- struct{}{} }, func(s pubsub.Settled) { messages <- s })
	})
	next(t, connected)

	a := pubsub.NewAnnouncer(c)
	want := pubsub.Settled{RunID: 7, First: 3, Last: 9}
	a.Announce(want)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Run publishes what was announced before the end
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := next(t, messages); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}

	t.Run("announcing never blocks", func(*testing.T) {
		for range 100_000 {
			a.Announce(want)
		}
	})
}
