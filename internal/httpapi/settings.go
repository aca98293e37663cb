package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Editor changes courses and runs for a caller, whose right was looked at.
type Editor interface {
	AddCourse(ctx context.Context, by access.Caller, c enroll.Course) (enroll.Course, error)
	ChangeCourse(ctx context.Context, by access.Caller, slug string, version int64, to enroll.CourseSettings) (enroll.Course, error)
	AddRun(ctx context.Context, by access.Caller, r enroll.Run) (enroll.RunState, error)
	ChangeRun(ctx context.Context, by access.Caller, slug string, version int64, to enroll.RunSettings) (enroll.RunState, error)
	PublishRun(ctx context.Context, by access.Caller, slug string) (enroll.RunState, error)
	ArchiveRun(ctx context.Context, by access.Caller, slug string) (enroll.RunState, error)
	DeleteRun(ctx context.Context, by access.Caller, slug string) error
}

// versionTag is the strong ETag of settings: the same version has the same bytes.
func versionTag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

var errNoIfMatch = enroll.Errorf(preconditionRequired, "the change must name the version that it is made from: send the ETag of the settings as If-Match")

// matchVersion returns an error unless the request's If-Match names the version by
// strong comparison (RFC 9110, 13.1.1). Current is what the problem shows then.
func matchVersion(c *gin.Context, version int64, current any) error {
	header := strings.Join(c.Request.Header.Values("If-Match"), ",")
	if strings.TrimSpace(header) == "" {
		return errNoIfMatch
	}
	for each := range strings.SplitSeq(header, ",") {
		if each = strings.TrimSpace(each); each == "*" || each == versionTag(version) {
			return nil
		}
	}
	return changedSince(c, version, current)
}

// changedSince returns the error of a change that is made from an older version,
// and leaves the current one for its answer.
func changedSince(c *gin.Context, version int64, current any) error {
	c.Header("Etag", versionTag(version))
	c.Set(currentKey, current)
	return enroll.Errorf(enroll.VersionChanged, "another change came first: look at the current settings, and send the change with their ETag")
}

// courseSlug returns the course that the path names.
func courseSlug(c *gin.Context) (string, error) {
	slug, err := enroll.ParseSlug(c.Param("course"))
	if err != nil {
		return "", enroll.Errorf(enroll.NotFound, "there is no such course")
	}
	return slug, nil
}

// organisingCourse lets only organisers of the course through that the path names.
func (a *api) organisingCourse(h func(*gin.Context, enroll.Course) error) func(*gin.Context) error {
	return a.signedIn(func(c *gin.Context) error {
		slug, err := courseSlug(c)
		if err != nil {
			return err
		}
		ctx, cancel := reading(c)
		defer cancel()
		course, err := a.catalogue.Course(ctx, slug)
		if err != nil {
			return err
		}
		if !callerOf(c).RoleFor(slug).AtLeast(access.Organiser) {
			return errNotCourse
		}
		return h(c, course)
	})
}

type courseSettingsJSON struct {
	Slug        string `json:"slug"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Organiser   string `json:"organiser"`
	ReplyTo     string `json:"reply_to"`
}

func showCourseSettings(c enroll.Course) courseSettingsJSON {
	return courseSettingsJSON{c.Slug, c.Title, c.Description, c.Organiser, c.ReplyTo}
}

func answerCourse(c *gin.Context, status int, course enroll.Course) error {
	c.Header("Etag", versionTag(course.Version))
	c.JSON(status, showCourseSettings(course))
	return nil
}

// courseInputJSON is the body that adds a course or changes it.
type courseInputJSON struct {
	Title       optional[string] `json:"title"`
	Description optional[string] `json:"description"`
	Organiser   optional[string] `json:"organiser"`
	ReplyTo     optional[string] `json:"reply_to"`
}

// over returns the settings with what the body gives in place of what is there.
func (in courseInputJSON) over(s enroll.CourseSettings) enroll.CourseSettings {
	replace(&s.Title, in.Title.value)
	replace(&s.Description, in.Description.value)
	replace(&s.Organiser, in.Organiser.value)
	replace(&s.ReplyTo, in.ReplyTo.value)
	return s
}

func replace[T any](it *T, by *T) {
	if by != nil {
		*it = *by
	}
}

// addCourse answers POST /v1/courses, for organisers of all courses.
func (a *api) addCourse(c *gin.Context) error {
	if !callerOf(c).RoleForAll().AtLeast(access.Organiser) {
		return enroll.Errorf(enroll.Forbidden, "adding a course needs the role of an organiser for all courses")
	}
	var body struct {
		Slug string `json:"slug"`
		courseInputJSON
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	s := body.over(enroll.CourseSettings{})
	_, bad := enroll.ParseNewSlug(body.Slug)
	if err := enroll.JoinFaults(bad, s.Check()); err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	course, err := a.editor.AddCourse(ctx, callerOf(c), enroll.Course{
		Slug: body.Slug, Title: s.Title, Description: s.Description, Organiser: s.Organiser, ReplyTo: s.ReplyTo,
	})
	if err != nil {
		return err
	}
	c.Header("Location", a.options.PublicURL+"/v1/courses/"+course.Slug)
	return answerCourse(c, http.StatusCreated, course)
}

// getCourseSettings answers GET /v1/courses/{course}/settings.
func (a *api) getCourseSettings(c *gin.Context, course enroll.Course) error {
	return answerCourse(c, http.StatusOK, course)
}

// changeCourse answers PATCH /v1/courses/{course}/settings.
func (a *api) changeCourse(c *gin.Context, course enroll.Course) error {
	if err := matchVersion(c, course.Version, showCourseSettings(course)); err != nil {
		return err
	}
	var body courseInputJSON
	if err := a.decode(c, &body); err != nil {
		return err
	}
	to := body.over(enroll.CourseSettings{Title: course.Title, Description: course.Description, Organiser: course.Organiser, ReplyTo: course.ReplyTo})
	if err := to.Check(); err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	changed, err := a.editor.ChangeCourse(ctx, callerOf(c), course.Slug, course.Version, to)
	if enroll.CodeOf(err) == enroll.VersionChanged {
		if course, err = a.catalogue.Course(ctx, course.Slug); err != nil {
			return err
		}
		return changedSince(c, course.Version, showCourseSettings(course))
	}
	if err != nil {
		return err
	}
	return answerCourse(c, http.StatusOK, changed)
}
