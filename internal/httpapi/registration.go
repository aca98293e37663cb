package httpapi

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

type registrationJSON struct {
	ID         uuid.UUID     `json:"id"`
	Run        string        `json:"run"`
	Status     enroll.Status `json:"status"`
	Reason     *reasonJSON   `json:"reason"`
	Ticket     int64         `json:"ticket"`
	Position   *int64        `json:"position"`
	AcceptedAt *time.Time    `json:"accepted_at"`
	DecidedAt  *time.Time    `json:"decided_at"`
	Final      bool          `json:"final"`
	Links      linksJSON     `json:"links"`
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
		ID: r.ID, Run: r.Run, Status: r.Status, Ticket: r.Ticket,
		AcceptedAt: instant(r.AcceptedAt), DecidedAt: instant(r.DecidedAt),
		Final: r.Status.Final(), Links: linksJSON{Self: a.registrationURL(r)},
	}
	if r.Reason != "" {
		shown.Reason = &reasonJSON{r.Reason, r.Reason.Message()}
	}
	if r.Status == enroll.Confirmed {
		calendar := shown.Links.Self + "/calendar.ics"
		shown.Links.Calendar = &calendar
	}
	if p := r.Position(); p > 0 {
		shown.Position = &p
	}
	return shown
}

func (a *api) registrationURL(r enroll.Registration) string { return a.options.PublicURL + r.Path() }

// optionalText is a text that a body may leave out. What is sent counts: "" and
// null are texts that say nothing, and not the same as leaving it out.
type optionalText struct{ text *string }

func (o *optionalText) UnmarshalJSON(b []byte) error {
	o.text = new(string)
	return json.Unmarshal(b, o.text)
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
	var body struct {
		Name     string       `json:"name"`
		Email    string       `json:"email"`
		Language optionalText `json:"language"`
		Notify   bool         `json:"notify"`
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	application, err := enroll.Apply(enroll.Wish{
		Run: run, Name: body.Name, Email: body.Email, Language: body.Language.text, Notify: body.Notify, IdempotencyKey: key,
	})
	if err != nil {
		return err
	}
	receipt, err := a.intake.Accept(c.Request.Context(), application)
	if enroll.CodeOf(err) == enroll.OutcomeUnknown {
		c.Header("Location", a.registrationURL(receipt.Registration)) // if it was accepted, it is there
	}
	if err != nil {
		return err
	}
	c.Set(ticketKey, receipt.Ticket)
	c.Header("Location", a.registrationURL(receipt.Registration))
	describe(c, receipt.Registration)
	c.JSON(http.StatusAccepted, a.showRegistration(receipt.Registration))
	return nil
}

// getRegistration answers GET /v1/registrations/{id}?wait=N. With wait, it holds
// the answer until the registration differs from what If-None-Match names, or
// without that header until it is decided.
func (a *api) getRegistration(c *gin.Context) error {
	ctx := c.Request.Context()
	id, err := idParameter(c, "id", "registration")
	if err != nil {
		return err
	}
	wait, err := a.waitParameter(c)
	if err != nil {
		return err
	}
	known := strings.Join(c.Request.Header.Values("If-None-Match"), ",") // one list, however many lines
	var r enroll.Registration
	if wait > 0 {
		r, err = a.watch.Wait(ctx, id, wait, func(r enroll.Registration) bool {
			if known != "" {
				return !matches(known, etag(r))
			}
			return r.Status != enroll.Queued
		})
	} else {
		r, err = a.watch.Get(ctx, id)
	}
	if err != nil {
		return err
	}
	c.Set(runKey, r.Run)
	c.Set(ticketKey, r.Ticket)
	describe(c, r)
	if matches(known, etag(r)) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	c.JSON(http.StatusOK, a.showRegistration(r))
	return nil
}

// getCalendar answers GET /v1/registrations/{id}/calendar.ics.
func (a *api) getCalendar(c *gin.Context) error {
	id, err := idParameter(c, "id", "registration")
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	r, err := a.watch.Get(ctx, id)
	if err != nil {
		return err
	}
	c.Set(runKey, r.Run)
	c.Set(ticketKey, r.Ticket)
	if r.Status != enroll.Confirmed {
		return enroll.Errorf(enroll.NotFound, "there is no calendar entry, since the registration is not confirmed")
	}
	run, err := a.catalogue.Run(ctx, r.Run)
	if err != nil {
		return err
	}
	entry := calendar.Entry(calendar.Publish, enroll.Enrolment{Registration: r, For: run.Run}, a.options.Organiser, run.Now)
	c.Header("Cache-Control", "private, no-cache")
	c.Header("Content-Disposition", `attachment; filename="`+run.Slug+`.ics"`)
	c.Data(http.StatusOK, calendar.Publish.ContentType(), entry)
	return nil
}

// idParameter returns the UUID that the path names. What is none cannot be the
// noun's.
func idParameter(c *gin.Context, name, noun string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil || len(c.Param(name)) != 36 { // the library reads other forms, too
		return uuid.Nil, enroll.Errorf(enroll.NotFound, "there is no such %s", noun)
	}
	return id, nil
}

func (a *api) waitParameter(c *gin.Context) (time.Duration, error) {
	text, given := c.GetQuery("wait")
	if !given {
		return 0, nil
	}
	most := int(a.options.MaxWait / time.Second)
	seconds, err := strconv.ParseUint(text, 10, 31) // takes no sign
	if err != nil || int(seconds) > most {
		return 0, enroll.FaultIn("wait", enroll.Invalid, "range", fmt.Sprintf("must be a whole number of seconds from 0 to %d", most))
	}
	return time.Duration(seconds) * time.Second, nil
}

// describe sets the headers that belong to a registration.
func describe(c *gin.Context, r enroll.Registration) {
	c.Header("ETag", etag(r))
	c.Header("Cache-Control", "private, no-cache")
	if !r.Status.Final() {
		c.Header("Retry-After", strconv.Itoa(retryAfter(r)))
	}
}

// retryAfter returns after how many seconds it is worth asking again: longer
// when the line is longer, at a pace that a line keeps easily.
func retryAfter(r enroll.Registration) int {
	const perSecond = 1000
	return int(min(1+r.Position()/perSecond, 30))
}

// etag covers what a person must be told, and not the position: moving up wakes
// nobody. It is weak because of that (RFC 9110, 8.8.1).
func etag(r enroll.Registration) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %s %d", r.ID, r.Status, r.Reason, r.DecidedAt.UnixMicro())
	return fmt.Sprintf(`W/"%016x"`, h.Sum64())
}

// matches tells whether an If-None-Match header names the tag, by weak
// comparison (RFC 9110, 13.1.2).
func matches(header, tag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for each := range strings.SplitSeq(header, ",") {
		if strings.TrimPrefix(strings.TrimSpace(each), "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
