package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

// calendarMethods says for which registrations there is an entry, if they ever
// had a seat, and what a calendar that subscribed to it shall do with it.
var calendarMethods = map[enroll.Status]calendar.Method{
	enroll.Confirmed: calendar.Publish,
	enroll.Cancelled: calendar.Cancel,
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
	method := calendarMethods[r.Status]
	seated := method == calendar.Publish
	if method == calendar.Cancel {
		if seated, err = a.line.WasSeated(ctx, r); err != nil {
			return err
		}
	}
	if !seated {
		return enroll.Errorf(enroll.NotFound, "there is no calendar entry: the registration never had a seat")
	}
	run, err := a.catalogue.Run(ctx, r.Run)
	if err != nil {
		return err
	}
	entry := calendar.Entry(method, enroll.Enrolment{Registration: r, For: run.Run}, a.options.Organiser, run.Now)
	c.Header("Cache-Control", "private, no-cache")
	c.Header("Content-Disposition", `attachment; filename="`+run.Slug+`.ics"`)
	c.Data(http.StatusOK, method.ContentType(), entry)
	return nil
}
