package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

type courseJSON struct {
	Slug        string `json:"slug"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func showCourse(c enroll.Course) courseJSON {
	return courseJSON{c.Slug, c.Title, c.Description}
}

// listCourses answers GET /v1/courses?limit=&after=.
func (a *api) listCourses(c *gin.Context) error {
	most, err := limitParameter(c)
	if err != nil {
		return err
	}
	after, err := courseAfter(c)
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	courses, err := a.catalogue.Courses(ctx, enroll.CourseQuery{After: after, Most: most + 1}) // is there another page?
	if err != nil {
		return err
	}
	showPage(a, c, "courses", courses, most, showCourse, courseCursor)
	return nil
}

func (a *api) getCourse(c *gin.Context) error {
	slug, err := enroll.ParseSlug(c.Param("course"))
	if err != nil {
		return enroll.Errorf(enroll.NotFound, "there is no such course")
	}
	ctx, cancel := reading(c)
	defer cancel()
	course, err := a.catalogue.Course(ctx, slug)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, showCourse(course))
	return nil
}
