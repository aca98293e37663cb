package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/bench/load"
	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/bench/rivals"
	"github.com/lastseat/lastseat/internal/dev/clients"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// pollers is how many people poll while others ask.
const pollers = 2000

// pollWait is how long each of their polls is held, in seconds. The polls begin at
// different moments, so that 400 end and begin every second.
const pollWait = 5

// measurePollers measures a rush with and without people who poll. All of those
// have a seat of the same run.
func measurePollers(ctx context.Context, b *testbed, c benchCase, p plan) (*report.Case, error) {
	w, count := c.load, pollers
	w.limit = trialLimit
	if p.quick {
		w, count = w.smaller(20), 200
		w.seats = w.people + count
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets, Ceiling: &report.Entrant{Name: rivals.Ceiling, Lacks: "everything", Pool: 1}}
	for round := range p.rounds {
		// Without pollers first, and in the next round last.
		both := make(map[bool]report.Sample)
		for _, polling := range []bool{round%2 == 1, round%2 == 0} {
			err := b.withLastseat(ctx, w.runList(), func(ctx context.Context, l *lastseat) (err error) {
				both[polling], err = b.trialWithSeatedPollers(ctx, l, w, count, polling)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("measuring Lastseat: %w", err)
			}
		}
		sample := both[true]
		sample[report.Plain] = both[false][report.Accepted]
		out.Lastseat.Samples = append(out.Lastseat.Samples, sample)
		b.tool.Log.Printf("%s, round %d of %d: %.0f accepted per second, %.0f without them", c.id, round+1, p.rounds, sample[report.Accepted], sample[report.Plain])

		ceiling, _ := rivals.Find(rivals.Ceiling)
		err := b.withRival(ctx, ceiling, 1, w, func(ctx context.Context, r *rival) error {
			polls := make([][]byte, count)
			for i := range polls {
				polls[i] = poll(uuid.New(), `W/"0"`)
			}
			s, err := b.trialWithPollers(ctx, r, w, polls)
			out.Ceiling.Samples = append(out.Ceiling.Samples, s)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("measuring the ceiling: %w", err)
		}
	}
	return out, nil
}

// trialWithSeatedPollers gives the pollers their seats first.
func (b *testbed) trialWithSeatedPollers(ctx context.Context, l *lastseat, w workload, count int, polling bool) (report.Sample, error) {
	polls, err := l.seatPollers(ctx, w, count)
	if err != nil {
		return nil, fmt.Errorf("seating those who poll: %w", err)
	}
	if !polling {
		polls = nil
	}
	return b.trialWithPollers(ctx, fromTicket{l, w.slug(0), int64(count)}, w, polls)
}

// seatPollers lets so many people get a seat and returns the poll of each.
func (l *lastseat) seatPollers(ctx context.Context, w workload, count int) ([][]byte, error) {
	client, err := load.Dial(ctx, l.api, connections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	requests, polls := make([][]byte, count), make([][]byte, count)
	for i := range requests {
		requests[i] = request(w.slug(0), w.people+i)
	}
	looks := make([][]byte, count)
	_, err = client.Ask(ctx, load.Job{Requests: requests, Each: func(i int, a load.Answer, _, body []byte) error {
		var told clients.Registration
		if err := json.Unmarshal(body, &told); err != nil || a.Status != http.StatusAccepted {
			return fmt.Errorf("status %d, %s", a.Status, body)
		}
		looks[i] = load.Get("/v1/registrations/"+told.ID.String()+"?wait=20", "")
		return nil
	}})
	if err != nil {
		return nil, err
	}
	_, err = client.Ask(ctx, load.Job{Requests: looks, Each: func(i int, a load.Answer, etag, body []byte) error {
		var told clients.Registration
		if err := json.Unmarshal(body, &told); err != nil || a.Status != http.StatusOK || len(etag) == 0 {
			return fmt.Errorf("status %d, %s", a.Status, body)
		}
		polls[i] = poll(told.ID, string(etag))
		return nil
	}})
	return polls, err
}

// poll returns the request of a person who knows the status with the ETag.
func poll(id uuid.UUID, etag string) []byte {
	return load.Get(fmt.Sprintf("/v1/registrations/%s?wait=%d", id, pollWait), etag)
}

// trialWithPollers is a trial during which people poll, each on a connection of
// their own.
func (b *testbed) trialWithPollers(ctx context.Context, s system, w workload, polls [][]byte) (sample report.Sample, err error) {
	if len(polls) == 0 {
		return b.trial(ctx, s, w)
	}
	polling, stop := context.WithCancel(ctx)
	defer stop()
	var people sync.WaitGroup
	var broken error
	var once sync.Once
	for i, request := range polls {
		people.Go(func() {
			// They begin over the length of a poll, not all at once.
			if !proc.Sleep(polling, pollWait*time.Second*time.Duration(i)/time.Duration(len(polls))) {
				return
			}
			if err := keepPolling(polling, s.address(), request); err != nil {
				once.Do(func() { broken = fmt.Errorf("polling: %w", err) })
				stop()
			}
		})
	}
	if proc.Sleep(polling, pollWait*time.Second) { // until all poll
		sample, err = b.trial(polling, s, w)
	}
	stop()
	people.Wait()
	switch {
	case broken != nil:
		return nil, broken
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return sample, err
}

// keepPolling polls again and again, until ctx ends.
func keepPolling(ctx context.Context, address string, request []byte) error {
	conn, err := load.Connect(ctx, address)
	if err == nil {
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		defer conn.Close()
	}
	for err == nil {
		var status int
		var body []byte
		status, _, body, err = conn.Do(request)
		if err == nil && status != http.StatusNotModified {
			err = fmt.Errorf("status %d, %s", status, body)
		}
	}
	if ctx.Err() != nil {
		return nil // it was told to end
	}
	return err
}
