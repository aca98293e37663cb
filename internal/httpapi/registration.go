package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

type registrationJSON struct {
	ID               uuid.UUID         `json:"id"`
	Run              string            `json:"run"`
	Status           enroll.Status     `json:"status"`
	Reason           *reasonJSON       `json:"reason"`
	Ticket           int64             `json:"ticket"`
	Position         *int64            `json:"position"`
	WaitlistPosition *int              `json:"waitlist_position"`
	AcceptedAt       *time.Time        `json:"accepted_at"`
	DecidedAt        *time.Time        `json:"decided_at"`
	ChangedAt        *time.Time        `json:"changed_at"`
	Final            bool              `json:"final"`
	Cancellation     *cancellationJSON `json:"cancellation"`
	Links            linksJSON         `json:"links"`
}

type reasonJSON struct {
	Code    enroll.Reason `json:"code"`
	Message string        `json:"message"`
}

type linksJSON struct {
	Self     string  `json:"self"`
	Calendar *string `json:"calendar"`
}

func (a *api) showRegistration(r enroll.Registration) registrationJSON {
	shown := registrationJSON{
		ID: r.ID, Run: r.Run, Status: r.Status, Reason: showReason(r.Reason), Ticket: r.Ticket,
		AcceptedAt: instant(r.AcceptedAt), DecidedAt: instant(r.DecidedAt), ChangedAt: instant(r.ChangedAt),
		Final: final(r), Cancellation: showCancellation(r.Cancellation), Links: linksJSON{Self: a.registrationURL(r)},
	}
	if r.Status == enroll.Confirmed {
		calendar := shown.Links.Self + "/calendar.ics"
		shown.Links.Calendar = &calendar
	}
	if p := r.Position(); p > 0 {
		shown.Position = &p
	}
	if p := r.WaitlistPosition; p > 0 {
		shown.WaitlistPosition = &p
	}
	return shown
}

func showReason(r enroll.Reason) *reasonJSON {
	if r == "" {
		return nil
	}
	return &reasonJSON{r, r.Message()}
}

// final tells whether the registration is what it will be, as far as anybody has
// asked for.
func final(r enroll.Registration) bool {
	return r.Status.Final() && r.Cancellation.Status != enroll.Queued
}

func (a *api) registrationURL(r enroll.Registration) string { return a.options.PublicURL + r.Path() }

// optional is a value that a body may leave out: then it is nil. null is no
// value, and not the same as leaving it out.
type optional[T any] struct{ value *T }

func (o *optional[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return errors.New("must not be null")
	}
	o.value = new(T)
	return json.Unmarshal(b, o.value)
}

// registerInputJSON is the body of a request for a seat.
type registerInputJSON struct {
	Name                string           `json:"name"`
	Email               string           `json:"email"`
	Language            optional[string] `json:"language"`
	Notify              bool             `json:"notify"`
	Waitlist            optional[bool]   `json:"waitlist"` // left out = true
	MaxWaitlistPosition optional[int]    `json:"max_waitlist_position"`
	OutsideWindow       bool             `json:"outside_window"`
}

// limit returns the last place on the waiting list that is wanted, nil if any
// is, or what is wrong with it.
func (in registerInputJSON) limit() (*int, *enroll.Fault) {
	const field = "max_waitlist_position"
	most, none := in.MaxWaitlistPosition.value, in.Waitlist.value != nil && !*in.Waitlist.value
	switch {
	case most == nil && none:
		return new(int), nil
	case most == nil:
		return nil, nil
	case none:
		return nil, &enroll.Fault{Field: field, Code: "excluded", Detail: "must be left out if waitlist is false"}
	case *most < 1 || *most > enroll.MaxCapacity:
		return nil, &enroll.Fault{Field: field, Code: "range", Detail: "must be a whole number from 1 to 1000000"}
	}
	return most, nil
}

// submission returns what is asked for, or an error with every fault of it.
func (in registerInputJSON) submission(run, key string, byOrganiser bool) (enroll.Submission, error) {
	limit, fault := in.limit()
	submission, err := enroll.NewRegister(enroll.RegisterInput{
		Run: run, Name: in.Name, Email: in.Email, Language: in.Language.value, Notify: in.Notify,
		WaitlistLimit: limit, OutsideWindow: in.OutsideWindow, ByOrganiser: byOrganiser, IdempotencyKey: key,
	})
	if fault != nil {
		err = withFaults(err, *fault)
	}
	return submission, err
}

// perhapsAccepted adds to the error of an outcome that is unknown how to find out.
// Without a key the registration, if there is one, has the id of the receipt. With
// a key an earlier request may have got another one.
func (a *api) perhapsAccepted(c *gin.Context, receipt enroll.Receipt, key string, err error) error {
	switch {
	case enroll.CodeOf(err) != enroll.OutcomeUnknown:
		return err
	case key == "":
		c.Header("Location", a.registrationURL(receipt.Registration))
		return err
	}
	return &enroll.Error{Code: enroll.OutcomeUnknown, Message: "the outcome is unknown: send the same request with the same Idempotency-Key again to learn it", Err: err}
}

// register answers POST /v1/runs/{run}/registrations with 202 once the request
// is in the line.
func (a *api) register(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.Request.Header)
	if err != nil {
		return err
	}
	var input registerInputJSON
	if err := a.decode(c, &input); err != nil {
		return err
	}
	byOrganiser, err := a.organises(c, run)
	switch {
	case err != nil:
		return err
	case input.OutsideWindow && callerOf(c).Anonymous():
		return errNoToken
	case input.OutsideWindow && !byOrganiser:
		return errNotCourse
	}
	submission, err := input.submission(run, key, byOrganiser)
	if err != nil {
		return err
	}
	if byOrganiser {
		submission.By = actor(c)
	}
	receipt, err := a.intake.Accept(c.Request.Context(), submission)
	if found(c, run, err) != nil {
		return a.perhapsAccepted(c, receipt, key, err)
	}
	c.Set(ticketKey, receipt.Ticket)
	r := receipt.Registration
	if receipt.Again { // it may have come far since
		if r, err = a.watch.Get(c.Request.Context(), r.ID); err != nil {
			return err
		}
	}
	c.Header("Location", a.registrationURL(r))
	describe(c, r)
	return a.showWithPlace(c, http.StatusAccepted, r)
}
