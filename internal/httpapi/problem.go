package httpapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

// The codes of errors that arise before the domain is asked.
const (
	malformed   enroll.Code = "malformed"              // not JSON, or not the JSON it must be
	tooLarge    enroll.Code = "too_large"              // a body over the limit
	unsupported enroll.Code = "unsupported_media_type" // a body that does not claim to be JSON
	noMethod    enroll.Code = "method_not_allowed"

	preconditionRequired enroll.Code = "precondition_required" // a change without If-Match
)

var (
	errNoRoute  = enroll.Errorf(enroll.NotFound, "there is nothing at this address")
	errNoObject = enroll.Errorf(malformed, "the body must be a JSON object")
	errNoMethod = enroll.Errorf(noMethod, "this address does not take this method: the Allow header lists those it takes")
)

// statuses maps every code to its HTTP status and its title (RFC 9457: the same
// for every occurrence).
var statuses = map[enroll.Code]struct {
	status int
	title  string
}{
	malformed:             {http.StatusBadRequest, "The body is not valid JSON"},
	enroll.Unauthorized:   {http.StatusUnauthorized, "There is no valid API token"},
	enroll.Forbidden:      {http.StatusForbidden, "The API token does not have this right"},
	enroll.NotFound:       {http.StatusNotFound, "Not found"},
	noMethod:              {http.StatusMethodNotAllowed, "Method not allowed"},
	enroll.RunNotOpen:     {http.StatusConflict, "Registration has not begun"},
	enroll.RunClosed:      {http.StatusConflict, "Registration has closed"},
	enroll.CodeCalledOff:  {http.StatusConflict, "The run has been called off"},
	enroll.RunOver:        {http.StatusConflict, "The run has ended"},
	enroll.RunBegun:       {http.StatusConflict, "The run has begun"},
	enroll.NotHeld:        {http.StatusConflict, "The registration has neither a seat nor a place on the waiting list"},
	enroll.CancelWaits:    {http.StatusConflict, "A request to cancel the registration is undecided"},
	enroll.Corrected:      {http.StatusGone, "The registration was corrected"},
	enroll.Obsolete:       {http.StatusConflict, "The mail is obsolete"},
	enroll.RunIsDraft:     {http.StatusConflict, "The run is not published"},
	enroll.WrongState:     {http.StatusConflict, "The state of the run does not allow this"},
	enroll.VersionChanged: {http.StatusPreconditionFailed, "Another change came first"},
	preconditionRequired:  {http.StatusPreconditionRequired, "If-Match is required"},
	enroll.LastAdmin:      {http.StatusConflict, "No admin would be left"},
	enroll.Conflict:       {http.StatusConflict, "Already exists"},
	tooLarge:              {http.StatusRequestEntityTooLarge, "The body is too large"},
	unsupported:           {http.StatusUnsupportedMediaType, "The body must be application/json"},
	enroll.Invalid:        {http.StatusUnprocessableEntity, "Some fields are not valid"},
	enroll.KeyReused:      {http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request"},
	enroll.Internal:       {http.StatusInternalServerError, "Internal error"},
	enroll.Busy:           {http.StatusServiceUnavailable, "Too many requests are waiting"},
	enroll.Unavailable:    {http.StatusServiceUnavailable, "The service is unavailable"},
	enroll.LineBlocked:    {http.StatusServiceUnavailable, "The run takes no requests at the moment"},
	enroll.OutcomeUnknown: {http.StatusServiceUnavailable, "It is not known whether the request was accepted"},
}

// problemJSON is the body of every error (RFC 9457).
type problemJSON struct {
	Title     string      `json:"title"`
	Status    int         `json:"status"`
	Detail    string      `json:"detail,omitempty"`
	Code      enroll.Code `json:"code"`
	RequestID string      `json:"request_id"`
	Errors    []faultJSON `json:"errors,omitempty"`
	OpensAt   *time.Time  `json:"opens_at,omitempty"`
	ClosesAt  *time.Time  `json:"closes_at,omitempty"`
	Now       *time.Time  `json:"now,omitempty"`
	Current   any         `json:"current,omitempty"` // what a change must be made from
}

type faultJSON struct {
	Field  string `json:"field"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// problem answers with the error. Causes are for the log, not for the client.
func (a *api) problem(c *gin.Context, err error) {
	var e enroll.Error
	switch found, is := errors.AsType[*enroll.Error](err); {
	case is:
		e = *found
	case errors.Is(err, context.Canceled), // the client went away: nobody reads this
		errors.Is(err, context.DeadlineExceeded): // the database did not answer in time
		e = enroll.Error{Code: enroll.Unavailable, Err: err}
	default:
		e = enroll.Error{Code: enroll.Internal, Err: err}
	}
	known, is := statuses[e.Code]
	shown := e.Code
	if !is {
		shown, known = enroll.Internal, statuses[enroll.Internal]
	}
	p := problemJSON{Title: known.title, Status: known.status, Detail: e.Message, Code: shown, RequestID: c.GetString(requestIDKey), Current: c.Value(currentKey)}
	for _, f := range e.Faults {
		p.Errors = append(p.Errors, faultJSON{f.Field, f.Code, f.Detail})
	}
	c.Set(errorKey, error(&e))
	if c.Writer.Written() { // half of an answer is out: it must not look like a whole one
		c.Abort()
		c.Set(cutKey, true)
		return
	}
	if w := e.Window; w != nil {
		p.OpensAt, p.ClosesAt, p.Now = instant(w.OpensAt), instant(w.ClosesAt), instant(w.Now)
	}
	if p.Status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", `Bearer realm="organisers"`)
	}
	if p.Status == http.StatusServiceUnavailable {
		c.Header("Retry-After", strconv.Itoa(comeBackAfter(e.Code)))
	}
	c.Header("Cache-Control", "no-store")
	c.Header("Content-Type", "application/problem+json") // kept by JSON
	c.AbortWithStatusJSON(p.Status, p)
}

// comeBackAfter returns after how many seconds to try again. A crowd that was sent
// away in one second must not come back in one second, so its members are told
// different ones.
func comeBackAfter(code enroll.Code) int {
	const spread = 5
	if code == enroll.Busy {
		return 1 + rand.IntN(spread) //nolint:gosec // it hides nothing
	}
	return 1
}

// instant returns a time as JSON shows it, or nil for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}
