package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
)

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
	at     time.Time     // when it was there
	took   time.Duration // since it was sent
}

func (a answer) expect(status int) {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("got status %d, want %d: %s", a.status, status, a.body)
	}
}

// expectProblem asserts the status and the code, and that the first fault names
// the field, if there is one.
func (a answer) expectProblem(status int, code, field string) problem {
	a.t.Helper()
	a.expect(status)
	var p problem
	if a.decode(&p); p.Status != status || p.Code != code {
		a.t.Errorf("got problem %d %s, want %d %s: %s", p.Status, p.Code, status, code, a.body)
	}
	if p.RequestID != a.header.Get("X-Request-ID") {
		a.t.Errorf("the problem has request id %s, the header %s", p.RequestID, a.header.Get("X-Request-ID"))
	}
	got := ""
	if len(p.Errors) > 0 {
		got = p.Errors[0].Field
	}
	if got != field {
		a.t.Errorf("the problem names the field %q, want %q: %s", got, field, a.body)
	}
	return p
}

func (a answer) registration() registration {
	a.t.Helper()
	var r registration
	a.decode(&r)
	return r
}

func (a answer) decode(v any) {
	a.t.Helper()
	if err := decodeAll(a.body, v); err != nil {
		a.t.Errorf("%v: %q", err, a.body)
	}
}

// decodeAll decodes one JSON value with nothing behind it and no field that v
// does not have.
func decodeAll(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("something follows the JSON value")
	}
	return nil
}

// What answers look like. A pointer is null where it is nil; that a name is
// there at all is for the contract to say.
type registration struct {
	ID     uuid.UUID
	Run    string
	Status string
	Reason *struct{ Code, Message string }
	Ticket int64

	Position         *int64
	WaitlistPosition *int       `json:"waitlist_position"`
	AcceptedAt       time.Time  `json:"accepted_at"`
	DecidedAt        *time.Time `json:"decided_at"`
	ChangedAt        *time.Time `json:"changed_at"`
	Final            bool
	Cancellation     *cancellation
	Links            struct {
		Self     string
		Calendar *string
	}
}

type cancellation struct {
	Ticket int64
	Status string
}

// outcome is the status with its reason.
func (r registration) outcome() string {
	if r.Reason == nil {
		return r.Status
	}
	return r.Status + " " + r.Reason.Code
}

type runState struct {
	Slug, State, Course, Title, Location, Registration string

	TimeZone     string    `json:"time_zone"`
	StartsAt     time.Time `json:"starts_at"`
	EndsAt       time.Time `json:"ends_at"`
	OpensAt      time.Time `json:"opens_at"`
	ClosesAt     time.Time `json:"closes_at"`
	Capacity     *int
	SeatsTaken   int  `json:"seats_taken"`
	SeatsLeft    *int `json:"seats_left"`
	OverCapacity bool `json:"over_capacity"`
	Waitlist     struct {
		Capacity     *int
		Length       int
		Ended        bool
		PromoteUntil *time.Time `json:"promote_until"`
	}
	Line struct {
		Waiting       int64
		SettledTicket int64 `json:"settled_ticket"`
	}
}

type problem struct {
	Title, Detail, Code string
	Status              int
	RequestID           string `json:"request_id"`
	Errors              []struct{ Field, Code, Detail string }
	OpensAt             time.Time `json:"opens_at"`
	ClosesAt            time.Time `json:"closes_at"`
	Now                 time.Time
	Current             map[string]any
}
