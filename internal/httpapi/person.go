package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

// personJSON is the person of a registration, as an organiser sees it.
type personJSON struct {
	Ticket int64         `json:"ticket"`
	Name   enroll.Name   `json:"name"`
	Email  string        `json:"email"`
	Status enroll.Status `json:"status"`
}

// correctionJSON is the body of a correction.
type correctionJSON struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// person returns who it shall be, or an error with every fault of the body.
func (b correctionJSON) person() (enroll.Name, enroll.Address, error) {
	name, bad := enroll.ParseName(b.Name)
	address, badAddress := enroll.ParseAddress(b.Email)
	if e, is := errors.AsType[*enroll.Error](badAddress); is {
		bad = withFaults(bad, e.Faults...)
	}
	return name, address, bad
}

// correctPerson answers PATCH /v1/runs/{run}/registrations/{ticket}. Nothing
// moves in the line, so that it is done when it is answered.
func (a *api) correctPerson(c *gin.Context) error {
	run, ticket, err := ticketParameters(c)
	if err != nil {
		return err
	}
	var body correctionJSON
	if err := a.decode(c, &body); err != nil {
		return err
	}
	name, address, err := body.person()
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	r, err := a.line.RegistrationAt(ctx, run, ticket)
	if found(c, run, err) != nil {
		return err
	}
	c.Set(ticketKey, ticket)
	switch { // here already: correcting holds up the line
	case r.Status != enroll.Confirmed && r.Status != enroll.Waitlisted:
		return enroll.ErrNotHeld
	case r.Cancellation.Status == enroll.Queued:
		return enroll.ErrCancelWaits
	}
	if err := a.line.CorrectPerson(ctx, callerOf(c), run, ticket, name, address); err != nil {
		return err
	}
	a.options.Corrected(r.RunID, ticket)
	c.JSON(http.StatusOK, personJSON{ticket, name, address.Typed, r.Status})
	return nil
}
