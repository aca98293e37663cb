package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// registration is what the API tells of one.
type registration struct {
	ID     uuid.UUID     `json:"id"`
	Ticket int64         `json:"ticket"`
	Status enroll.Status `json:"status"`
	Reason *struct {
		Code enroll.Reason `json:"code"`
	} `json:"reason"`
	WaitlistPosition *int `json:"waitlist_position"`
	Cancellation     *struct {
		Ticket int64         `json:"ticket"`
		Status enroll.Status `json:"status"`
	} `json:"cancellation"`
}

// holds tells whether it has a seat or a place on the waiting list.
func (r registration) holds() bool {
	return r.Status == enroll.Confirmed || r.Status == enroll.Waitlisted
}

// answer is how the API answered one question.
type answer struct {
	asked, answered time.Time
	code            int // 0 = not at all
	wait            time.Duration
	etag            string
	registration    registration
	problem         string // its code
}

// door is how people get to the APIs of a stack: they take turns.
type door struct {
	client   *http.Client
	apis     []string // their URLs
	turn     atomic.Uint64
	patience time.Duration // for one answer; 0 = without end
}

// newDoor returns a door with so many connections to each API.
func newDoor(conns int, apis ...string) *door {
	return &door{
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}},
		apis:   apis,
	}
}

func (d *door) close() { d.client.CloseIdleConnections() }

// call asks the next API for a path and reads the answer.
func (d *door) call(ctx context.Context, method, path, body string, header http.Header) (a answer, err error) {
	if d.patience > 0 {
		patient, cancel := context.WithTimeout(ctx, d.patience)
		defer cancel()
		ctx = patient
	}
	url := d.apis[d.turn.Add(1)%uint64(len(d.apis))] + path
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body)) //nolint:gosec // of the stack, which is ours
	if err != nil {
		return a, err
	}
	r.Header = header
	a.asked = time.Now()
	response, err := d.client.Do(r) //nolint:gosec // the same
	a.answered = time.Now()
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	a.code, a.etag = response.StatusCode, response.Header.Get("ETag")
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // absent once it is final
	a.wait = time.Duration(seconds) * time.Second
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	switch {
	case err != nil:
	case a.code < 300:
		err = json.Unmarshal(text, &a.registration)
	case a.code >= 400:
		var problem struct {
			Code string `json:"code"`
		}
		if json.Unmarshal(text, &problem) == nil { // what is none has no code
			a.problem = problem.Code
		}
	}
	return a, err
}

func errOr(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}
