package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lastseat/lastseat/internal/enroll"
)

// limitJSON is a member that can be left out, which is nil, or null, which is no
// limit.
type limitJSON struct{ *enroll.Limit }

// UnmarshalJSONFrom is called for null, too, and not at all for what is left out.
func (l *limitJSON) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	l.Limit = new(enroll.Limit)
	return json.UnmarshalDecode(d, &l.Most)
}

// resizeJSON is the body of a request for other capacities.
type resizeJSON struct {
	Capacity         limitJSON `json:"capacity"`
	WaitlistCapacity limitJSON `json:"waitlist_capacity"`
}

// submission returns what is asked for, or an error of code Invalid.
func (r resizeJSON) submission(run string) (enroll.Submission, error) {
	change := enroll.Change{Capacity: r.Capacity.Limit, WaitlistCapacity: r.WaitlistCapacity.Limit}
	if change == (enroll.Change{}) {
		return enroll.Submission{}, enroll.FaultIn("capacity", enroll.Invalid, "required", "is required unless waitlist_capacity is sent")
	}
	return enroll.NewResize(run, change)
}

// resize answers PATCH /v1/runs/{run} with 202 once the request is in the line.
func (a *api) resize(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	var body resizeJSON
	if err := a.decode(c, &body); err != nil {
		return err
	}
	submission, err := body.submission(run)
	if err != nil {
		return err
	}
	return a.putInLine(c, submission)
}

// closeWaitlist answers POST /v1/runs/{run}/close-waitlist likewise.
func (a *api) closeWaitlist(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	return a.putInLine(c, enroll.NewCloseWaitlist(run))
}

// callOff answers POST /v1/runs/{run}/call-off likewise.
func (a *api) callOff(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	return a.putInLine(c, enroll.NewCallOff(run))
}

// requestJSON is an organiser's request in a line.
type requestJSON struct {
	Ticket int64         `json:"ticket"`
	Kind   enroll.Kind   `json:"kind"`
	Status enroll.Status `json:"status"`
}

func (a *api) putInLine(c *gin.Context, submission enroll.Submission) error {
	submission.By = actor(c)
	receipt, err := a.intake.Accept(c.Request.Context(), submission)
	if found(c, submission.Run, err) != nil {
		return err
	}
	c.Set(ticketKey, receipt.Ticket)
	c.JSON(http.StatusAccepted, requestJSON{receipt.Ticket, receipt.Kind, receipt.Status})
	return nil
}
