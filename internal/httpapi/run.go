package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

type runJSON struct {
	Slug         string        `json:"slug"`
	State        enroll.State  `json:"state"`
	Course       string        `json:"course"`
	Title        string        `json:"title"`
	Location     string        `json:"location"`
	TimeZone     string        `json:"time_zone"`
	StartsAt     *time.Time    `json:"starts_at"`
	EndsAt       *time.Time    `json:"ends_at"`
	OpensAt      *time.Time    `json:"opens_at"`
	ClosesAt     *time.Time    `json:"closes_at"`
	Registration enroll.Window `json:"registration"`
	Capacity     *int          `json:"capacity"`
	SeatsTaken   int           `json:"seats_taken"`
	SeatsLeft    *int          `json:"seats_left"`
	OverCapacity bool          `json:"over_capacity"`
	Waitlist     waitlistJSON  `json:"waitlist"`
	Line         lineJSON      `json:"line"`
}

type waitlistJSON struct {
	Capacity     *int       `json:"capacity"`
	Length       int        `json:"length"`
	Ended        bool       `json:"ended"`
	PromoteUntil *time.Time `json:"promote_until"`
}

type lineJSON struct {
	Waiting       int64 `json:"waiting"`
	SettledTicket int64 `json:"settled_ticket"`
}

func showRun(r enroll.RunState) runJSON {
	life := r.Life()
	return runJSON{
		Slug: r.Slug, State: r.State, Course: r.Course, Title: r.Title, Location: r.Location, TimeZone: r.TimeZone,
		StartsAt: instant(r.StartsAt), EndsAt: instant(r.EndsAt),
		OpensAt: instant(r.OpensAt), ClosesAt: instant(r.ClosesAt), Registration: life.Window,
		Capacity: r.Capacity, SeatsTaken: r.AttendancesCount, SeatsLeft: r.SeatsLeft(), OverCapacity: r.OverCapacity(),
		Waitlist: waitlistJSON{r.WaitlistCapacity, r.WaitingCount, life.ListEnded, instant(r.ListEndsAt())},
		Line:     lineJSON{Waiting: r.Waiting(), SettledTicket: r.SettledTicket},
	}
}

// listRuns answers GET /v1/runs?course=&registration=open&limit=&after=.
func (a *api) listRuns(c *gin.Context) error {
	query, err := runsQuery(c)
	if err != nil {
		return err
	}
	if err := restrict(&query, callerOf(c)); err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	most := query.Most
	query.Most++ // is there another page?
	runs, err := a.catalogue.Runs(ctx, query)
	if err != nil {
		return err
	}
	showPage(a, c, "runs", runs, most, showRun, runCursor)
	return nil
}

// runsQuery returns which runs are asked for.
func runsQuery(c *gin.Context) (q enroll.RunQuery, err error) {
	if q.Course = c.Query("course"); q.Course != "" {
		if _, err := enroll.ParseSlug(q.Course); err != nil {
			return q, enroll.FaultIn("course", enroll.Invalid, "form", "must be the slug of a course")
		}
	}
	registration := c.Query("registration")
	if registration != "" && registration != string(enroll.Open) {
		return q, enroll.FaultIn("registration", enroll.Invalid, "unknown", "must be open or left out")
	}
	q.Open = registration != ""
	if text, given := c.GetQuery("state"); given {
		if q.State, err = enroll.ParseState(text); err != nil {
			return q, err
		}
	}
	if q.Most, err = limitParameter(c); err != nil {
		return q, err
	}
	q.After, err = runAfter(c)
	return q, err
}

// restrict leaves in the query only runs that the caller may list: those that are
// not published are for organisers of their courses.
func restrict(q *enroll.RunQuery, caller access.Caller) error {
	if q.State == "" || q.State == enroll.Published {
		return nil
	}
	if caller.Anonymous() {
		return errNoToken
	}
	if q.Among = caller.CoursesWith(access.Organiser); q.Among != nil && len(q.Among) == 0 {
		return errNotCourse
	}
	return nil
}

func (a *api) getRun(c *gin.Context) error {
	slug, err := runSlug(c)
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	run, err := a.catalogue.Run(ctx, slug)
	if err == nil {
		err = seen(c, run)
	}
	if found(c, slug, err) != nil {
		return err
	}
	c.JSON(http.StatusOK, showRun(run))
	return nil
}

// runSlug returns the run that the path names. What cannot be a slug cannot be a
// run.
func runSlug(c *gin.Context) (string, error) {
	slug, err := enroll.ParseSlug(c.Param("run"))
	if err != nil {
		return "", enroll.Errorf(enroll.NotFound, "there is no such run")
	}
	return slug, nil
}

// found notes the run for the log if an error, or that there is none, shows that
// the run exists, and returns the error. Before that it is a piece of the path,
// in which a client may have put anything, a credential too.
func found(c *gin.Context, run string, err error) error {
	switch enroll.CodeOf(err) {
	case "", enroll.RunNotOpen, enroll.RunClosed, enroll.RunOver, enroll.RunBegun, enroll.CodeCalledOff, enroll.LineBlocked,
		enroll.KeyReused, enroll.Corrected, enroll.NotHeld, enroll.CancelWaits, enroll.Conflict, enroll.RunIsDraft, enroll.WrongState:
		c.Set(runKey, run)
	default: // there may be none
	}
	return err
}
