package lane_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestSender(t *testing.T) {
	t.Parallel()

	t.Run("bundles of a run that wait become one task, and wake once", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		a, b := enrolltest.OpenRun(t, p.store, "a", nil), enrolltest.OpenRun(t, p.store, "b", nil)
		s := lane.NewSender(p.client, time.Second, time.Minute, quiet, prometheus.NewRegistry())
		for i := range int64(5) { // nobody sends yet
			s.Notify(enroll.Bundle{RunID: a, Run: "a", First: 2*i + 1, Last: 2*i + 2})
			s.Notify(enroll.Bundle{RunID: b, Run: "b", First: i + 1, Last: i + 1})
		}
		wakes := p.client.Subscribe(context.Background(), "lastseat:1:wake")
		defer wakes.Close()
		if _, err := wakes.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop := run(t, s.Run)
		testwait.Until(t, "both runs have a task", func() bool { return p.queue("a").Pending == 1 && p.queue("b").Pending == 1 })
		s.Notify(enroll.Bundle{RunID: a, Run: "a", First: 11, Last: 11})
		testwait.Until(t, "the second task is on the queue", func() bool { return p.queue("a").Pending == 2 })
		stop()
		heard := make(map[string]int)
		for {
			message, err := wakes.ReceiveTimeout(t.Context(), 100*time.Millisecond)
			if err != nil {
				break
			}
			heard[message.(interface{ String() string }).String()]++
		}
		if len(heard) != 2 {
			t.Errorf("the workers heard %v", heard)
		}
		for message, n := range heard {
			if n != 1 {
				t.Errorf("%s was heard %d times", message, n)
			}
		}
	})

	t.Run("a bundle gets a task, whatever an older Redis or a restored ledger left under the numbers of its tickets", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		if err := p.client.HSet(t.Context(), "asynq:{"+lane.QueueName("a")+"}:t:1", "state", "archived").Err(); err != nil {
			t.Fatal(err)
		}
		p.ask("a", 1)
		testwait.Until(t, "the task is on the queue", func() bool { return p.queue("a").Pending == 1 })
	})

	t.Run("a wake-up that nobody heard hushes no other", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		a := enrolltest.OpenRun(t, p.store, "a", nil)
		s := lane.NewSender(p.client, time.Second, time.Minute, quiet, prometheus.NewRegistry())
		run(t, s.Run)
		s.Notify(enroll.Bundle{RunID: a, Run: "a", First: 1, Last: 1})
		testwait.Until(t, "the task is on the queue", func() bool { return p.queue("a").Pending == 1 })
		wakes := p.client.Subscribe(context.Background(), "lastseat:1:wake")
		defer wakes.Close()
		if _, err := wakes.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "a wake-up is heard", func() bool { // the first wake-up may be on its way still
			s.Notify(enroll.Bundle{RunID: a, Run: "a", First: 2, Last: 2})
			_, err := wakes.ReceiveTimeout(t.Context(), 50*time.Millisecond)
			return err == nil
		})
	})

	t.Run("a task that joins its fellows still has the line settled to its end", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		enrolltest.OpenRun(t, p.store, "a", nil)
		w := p.worker(p.store, func(o *lane.Options) { o.SweepInterval, o.SweepAllInterval = time.Hour, time.Hour })
		for n := range 200 {
			p.ask("a", n)
		}
		waitUntilSettled(t, 200, w)
		p.waitUntilDrained()
	})
}
