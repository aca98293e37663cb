package main

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
)

// pollers is how many people poll while others ask.
const pollers = 2000

// pollWait is how long each of their polls is held, in seconds. Each begins at
// another moment, so that 400 polls end every second, and are made again.
const pollWait = 5

// measurePollers measures a rush with and without people who poll, of whom all have
// a seat of the same run.
func measurePollers(ctx context.Context, a *arena, c benchCase, plan benchPlan) (*report.Case, error) {
	r, crowd := c.rush, pollers
	r.limit = cellLimit
	if plan.quick {
		r, crowd = r.smaller(20), 200
		r.seats = r.people + crowd
	}
	out := &report.Case{ID: c.id, What: c.what, Targets: c.targets, Ceiling: &report.Entrant{Name: rivals.Ceiling, Lacks: "everything", Pool: 1}}
	for round := range plan.rounds {
		// Without them first, and in the next round last.
		both := make(map[bool]report.Sample)
		for _, polling := range []bool{round%2 == 1, round%2 == 0} {
			err := a.withLastseat(ctx, r.runsOf(), func(ctx context.Context, l *lastseat) (err error) {
				both[polling], err = a.rushAmongPollers(ctx, l, r, crowd, polling)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("measuring Lastseat: %w", err)
			}
		}
		sample := both[true]
		sample[report.Plain] = both[false][report.Accepted]
		out.Lastseat.Samples = append(out.Lastseat.Samples, sample)
		a.t.log.printf("%s, round %d of %d: %.0f accepted per second, %.0f without them", c.id, round+1, plan.rounds, sample[report.Accepted], sample[report.Plain])

		ceiling, _ := rivals.Find(rivals.Ceiling)
		err := a.withRival(ctx, ceiling, 1, r, func(ctx context.Context, v *rival) error {
			polls := make([][]byte, crowd)
			for i := range polls {
				polls[i] = poll(uuid.New(), `W/"0"`)
			}
			s, err := a.cellAmong(ctx, v, r, polls)
			out.Ceiling.Samples = append(out.Ceiling.Samples, s)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("measuring the ceiling: %w", err)
		}
	}
	return out, nil
}

// rushAmongPollers first gives the people who poll their seats.
func (a *arena) rushAmongPollers(ctx context.Context, l *lastseat, r rushOf, crowd int, polling bool) (report.Sample, error) {
	polls, err := l.seatPollers(ctx, r, crowd)
	if err != nil {
		return nil, fmt.Errorf("seating those who poll: %w", err)
	}
	if !polling {
		polls = nil
	}
	return a.cellAmong(ctx, after{l, r.slug(0), int64(crowd)}, r, polls)
}

// seatPollers has so many people get a seat, and returns what each sends to hear of
// a change.
func (l *lastseat) seatPollers(ctx context.Context, r rushOf, crowd int) ([][]byte, error) {
	client, err := load.Dial(ctx, l.api, askedConnections)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	requests, polls := make([][]byte, crowd), make([][]byte, crowd)
	for i := range requests {
		requests[i] = request(r.slug(0), r.people+i)
	}
	looks := make([][]byte, crowd)
	_, err = client.Ask(ctx, load.Crowd{Requests: requests, Each: func(i int, a load.Answer, _, body []byte) error {
		var told registration
		if err := json.Unmarshal(body, &told); err != nil || a.Status != http.StatusAccepted {
			return fmt.Errorf("status %d, %s", a.Status, body)
		}
		looks[i] = load.Get("/v1/registrations/"+told.ID.String()+"?wait=20", "")
		return nil
	}})
	if err != nil {
		return nil, err
	}
	_, err = client.Ask(ctx, load.Crowd{Requests: looks, Each: func(i int, a load.Answer, etag, body []byte) error {
		var told registration
		if err := json.Unmarshal(body, &told); err != nil || a.Status != http.StatusOK || len(etag) == 0 {
			return fmt.Errorf("status %d, %s", a.Status, body)
		}
		polls[i] = poll(told.ID, string(etag))
		return nil
	}})
	return polls, err
}

// poll is what somebody sends who knows how things stand.
func poll(id uuid.UUID, etag string) []byte {
	return load.Get(fmt.Sprintf("/v1/registrations/%s?wait=%d", id, pollWait), etag)
}

// cellAmong is a cell while others poll, each on a connection of their own.
func (a *arena) cellAmong(ctx context.Context, s staged, r rushOf, polls [][]byte) (sample report.Sample, err error) {
	if len(polls) == 0 {
		return a.cell(ctx, s, r)
	}
	polling, stop := context.WithCancel(ctx)
	defer stop()
	var people sync.WaitGroup
	var broken error
	var once sync.Once
	for i, request := range polls {
		people.Go(func() {
			// They came over the last seconds, not at once.
			if !sleep(polling, pollWait*time.Second*time.Duration(i)/time.Duration(len(polls))) {
				return
			}
			if err := keepPolling(polling, s.address(), request); err != nil {
				once.Do(func() { broken = fmt.Errorf("polling: %w", err) })
				stop()
			}
		})
	}
	if sleep(polling, pollWait*time.Second) { // until all are there
		sample, err = a.cell(polling, s, r)
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

// keepPolling asks again and again, until ctx ends.
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
		return nil // it ends because it was told to
	}
	return err
}
