package httpapi

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

type cancellationJSON struct {
	Ticket int64         `json:"ticket"`
	Status enroll.Status `json:"status"`
}

func showCancellation(c enroll.Cancellation) *cancellationJSON {
	if c.Ticket == 0 {
		return nil
	}
	return &cancellationJSON{c.Ticket, c.Status}
}

// cancel answers DELETE /v1/registrations/{id} with 202 once the request to
// cancel is in the line, and with 200 if the registration is cancelled already.
func (a *api) cancel(c *gin.Context) error {
	id, err := idParameter(c, "id", "registration")
	if err != nil {
		return err
	}
	r, err := a.giveUp(c, false, func() (enroll.Registration, error) { return a.watch.Get(c.Request.Context(), id) })
	if enroll.CodeOf(err) == enroll.OutcomeUnknown {
		c.Header("Location", a.registrationURL(enroll.Registration{ID: id}))
	}
	if err != nil {
		return err
	}
	describe(c, r)
	status := http.StatusOK
	if r.Status != enroll.Cancelled {
		status = http.StatusAccepted
		c.Header("Location", a.registrationURL(r))
	}
	return a.showWithPlace(c, status, r)
}

// removalJSON is a registration that an organiser cancels. It has neither the id
// nor a link: those are the person's.
type removalJSON struct {
	Ticket       int64             `json:"ticket"`
	Status       enroll.Status     `json:"status"`
	Reason       *reasonJSON       `json:"reason"`
	Cancellation *cancellationJSON `json:"cancellation"`
}

// remove answers DELETE /v1/runs/{run}/registrations/{ticket} as cancel does.
func (a *api) remove(c *gin.Context) error {
	run, ticket, err := ticketParameters(c)
	if err != nil {
		return err
	}
	r, err := a.giveUp(c, true, func() (enroll.Registration, error) {
		ctx, cancel := reading(c)
		defer cancel()
		return a.line.RegistrationAt(ctx, run, ticket)
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if r.Status != enroll.Cancelled {
		status = http.StatusAccepted
	}
	c.JSON(status, removalJSON{r.Ticket, r.Status, showReason(r.Reason), showCancellation(r.Cancellation)})
	return nil
}

// giveUp puts a request to cancel the registration into its line, unless there
// is one or it is cancelled already, and returns the registration with it. The
// error has code NotHeld if there is nothing to give up.
func (a *api) giveUp(c *gin.Context, byOrganiser bool, read func() (enroll.Registration, error)) (enroll.Registration, error) {
	r, err := read()
	if err != nil {
		return r, err
	}
	c.Set(runKey, r.Run)
	c.Set(ticketKey, r.Ticket)
	if err := held(r); err != nil || r.Status == enroll.Cancelled || r.Cancellation.Ticket != 0 {
		return r, err
	}
	submission := enroll.NewCancel(r.Run, r.Ticket, byOrganiser)
	if byOrganiser {
		submission.By = actor(c)
	} else {
		submission.Shown = r.ID
	}
	receipt, err := a.intake.Accept(c.Request.Context(), submission)
	if err != nil {
		return r, err
	}
	if receipt.Again { // another request was faster, and the line may have come far since
		if r, err = read(); err == nil {
			err = held(r)
		}
		return r, err
	}
	r.Cancellation = enroll.Cancellation{Ticket: receipt.Ticket, Status: receipt.Status}
	return r, nil
}

// held returns an error for a registration that never gets a seat or a place any
// more.
func held(r enroll.Registration) error {
	if r.Status == enroll.Rejected || r.Status == enroll.NotPromoted {
		return enroll.ErrNotHeld
	}
	return nil
}

// ticketParameters returns the run and the ticket that the path names. What
// cannot be a ticket cannot be a registration's.
func ticketParameters(c *gin.Context) (run string, ticket int64, err error) {
	if run, err = runSlug(c); err != nil {
		return "", 0, err
	}
	text := c.Param("ticket")
	ticket, err = strconv.ParseInt(text, 10, 64)
	if err != nil || ticket < 1 || strconv.FormatInt(ticket, 10) != text {
		return "", 0, enroll.Errorf(enroll.NotFound, "there is no such registration")
	}
	return run, ticket, nil
}
