package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

type runSettingsJSON struct {
	Slug          string          `json:"slug"`
	Course        string          `json:"course"`
	State         enroll.State    `json:"state"`
	Location      string          `json:"location"`
	TimeZone      string          `json:"time_zone"`
	Language      enroll.Language `json:"language"`
	StartsAt      *time.Time      `json:"starts_at"`
	EndsAt        *time.Time      `json:"ends_at"`
	OpensAt       *time.Time      `json:"opens_at"`
	ClosesAt      *time.Time      `json:"closes_at"`
	PromoteUntil  *time.Time      `json:"promote_until"`  // null = when the run begins
	WaitlistEnded bool            `json:"waitlist_ended"` // by a request in the line, which no change undoes
}

func showRunSettings(r enroll.RunState) runSettingsJSON {
	return runSettingsJSON{
		Slug: r.Slug, Course: r.Course, State: r.State, Location: r.Location, TimeZone: r.TimeZone, Language: r.Language,
		StartsAt: instant(r.StartsAt), EndsAt: instant(r.EndsAt), OpensAt: instant(r.OpensAt), ClosesAt: instant(r.ClosesAt),
		PromoteUntil: instant(r.PromoteUntil), WaitlistEnded: r.WaitlistEnded,
	}
}

func answerRun(c *gin.Context, status int, r enroll.RunState) error {
	c.Header("Etag", versionTag(r.Version))
	c.JSON(status, showRunSettings(r))
	return nil
}

// nullable is a value that a body may leave out, which is not given, or null.
type nullable struct {
	given bool
	value *string
}

func (n *nullable) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	n.given = true
	return json.UnmarshalDecode(d, &n.value)
}

// runInputJSON is the body that adds a run or changes it.
type runInputJSON struct {
	Location     optional[string] `json:"location"`
	TimeZone     optional[string] `json:"time_zone"`
	Language     optional[string] `json:"language"`
	StartsAt     optional[string] `json:"starts_at"`
	EndsAt       optional[string] `json:"ends_at"`
	OpensAt      optional[string] `json:"opens_at"`
	ClosesAt     optional[string] `json:"closes_at"`
	PromoteUntil nullable         `json:"promote_until"`
}

// over returns the settings with what the body gives in place of what is there, or
// an error with every fault. Local times are in the zone that the run has then.
func (in runInputJSON) over(s enroll.RunSettings) (enroll.RunSettings, error) {
	replace(&s.Location, in.Location.value)
	replace(&s.TimeZone, in.TimeZone.value)
	replace((*string)(&s.Language), in.Language.value)
	zone, err := enroll.ParseTimeZone(s.TimeZone)
	if err != nil {
		zone = time.UTC // so that other faults are found
	}
	var faults []error
	parse := func(field string, text *string, into *time.Time) {
		switch {
		case text != nil:
			at, err := enroll.ParseInstant(field, *text, zone)
			*into = at
			faults = append(faults, err)
		case into.IsZero():
			faults = append(faults, enroll.FaultIn(field, enroll.Invalid, "required", "is required"))
		}
	}
	parse("starts_at", in.StartsAt.value, &s.StartsAt)
	parse("ends_at", in.EndsAt.value, &s.EndsAt)
	parse("opens_at", in.OpensAt.value, &s.OpensAt)
	parse("closes_at", in.ClosesAt.value, &s.ClosesAt)
	if in.PromoteUntil.given {
		s.PromoteUntil = time.Time{}
		if in.PromoteUntil.value != nil {
			parse("promote_until", in.PromoteUntil.value, &s.PromoteUntil)
		}
	}
	return s, enroll.JoinFaults(append(faults, s.Check())...)
}

// addRun answers POST /v1/courses/{course}/runs with a draft.
func (a *api) addRun(c *gin.Context, course enroll.Course) error {
	var body struct {
		Slug string `json:"slug"`
		runInputJSON
		Capacity         limitJSON `json:"capacity"`
		WaitlistCapacity limitJSON `json:"waitlist_capacity"` // left out = no waiting list
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	settings, bad := body.over(enroll.RunSettings{Language: enroll.English})
	_, badSlug := enroll.ParseNewSlug(body.Slug)
	run := enroll.Run{
		Slug: body.Slug, Course: course.Slug, Location: settings.Location, TimeZone: settings.TimeZone, Language: settings.Language,
		StartsAt: settings.StartsAt, EndsAt: settings.EndsAt, OpensAt: settings.OpensAt, ClosesAt: settings.ClosesAt, PromoteUntil: settings.PromoteUntil,
		WaitlistCapacity: new(int),
	}
	var noCapacity error
	if body.Capacity.Limit == nil {
		noCapacity = enroll.FaultIn("capacity", enroll.Invalid, "required", "is required: a number of seats, or null for no limit")
	} else {
		run.Capacity = body.Capacity.Most
	}
	if body.WaitlistCapacity.Limit != nil {
		run.WaitlistCapacity = body.WaitlistCapacity.Most
	}
	err := enroll.JoinFaults(badSlug, bad, noCapacity, enroll.CheckCapacity("capacity", run.Capacity), enroll.CheckCapacity("waitlist_capacity", run.WaitlistCapacity))
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	added, err := a.editor.AddRun(ctx, callerOf(c), run)
	if err != nil {
		return err
	}
	c.Header("Location", a.options.PublicURL+"/v1/runs/"+added.Slug)
	return answerRun(c, http.StatusCreated, added)
}

// getRunSettings answers GET /v1/runs/{run}/settings.
func (a *api) getRunSettings(c *gin.Context) error {
	return a.withRun(c, func(_ context.Context, r enroll.RunState) error { return answerRun(c, http.StatusOK, r) })
}

// withRun reads the run that the path names and calls do.
func (a *api) withRun(c *gin.Context, do func(context.Context, enroll.RunState) error) error {
	slug, err := runSlug(c)
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	r, err := a.catalogue.Run(ctx, slug)
	if found(c, slug, err) != nil {
		return err
	}
	return do(ctx, r)
}

// changeRun answers PATCH /v1/runs/{run}/settings.
func (a *api) changeRun(c *gin.Context) error {
	return a.withRun(c, func(ctx context.Context, r enroll.RunState) error {
		if err := matchVersion(c, r.Version, showRunSettings(r)); err != nil {
			return err
		}
		var body runInputJSON
		if err := a.decode(c, &body); err != nil {
			return err
		}
		to, err := body.over(r.Settings())
		if err != nil {
			return err
		}
		changed, err := a.editor.ChangeRun(ctx, callerOf(c), r.Slug, r.Version, to)
		if enroll.CodeOf(err) == enroll.VersionChanged {
			if r, err = a.catalogue.Run(ctx, r.Slug); err != nil {
				return err
			}
			return changedSince(c, r.Version, showRunSettings(r))
		}
		if err != nil {
			return err
		}
		return answerRun(c, http.StatusOK, changed)
	})
}

// moveRun answers POST /v1/runs/{run}/publish and …/archive.
func (a *api) moveRun(move func(context.Context, access.Caller, string) (enroll.RunState, error)) func(*gin.Context) error {
	return func(c *gin.Context) error {
		slug, err := runSlug(c)
		if err != nil {
			return err
		}
		ctx, cancel := reading(c)
		defer cancel()
		r, err := move(ctx, callerOf(c), slug)
		if found(c, slug, err) != nil {
			return err
		}
		return answerRun(c, http.StatusOK, r)
	}
}

// deleteRun answers DELETE /v1/runs/{run}.
func (a *api) deleteRun(c *gin.Context) error {
	slug, err := runSlug(c)
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	if err := a.editor.DeleteRun(ctx, callerOf(c), slug); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}
