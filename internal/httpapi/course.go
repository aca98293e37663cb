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

func (a *api) listCourses(c *gin.Context) error {
	ctx, cancel := reading(c)
	defer cancel()
	courses, err := a.catalogue.Courses(ctx)
	if err != nil {
		return err
	}
	list := make([]courseJSON, len(courses))
	for i, each := range courses {
		list[i] = showCourse(each)
	}
	c.JSON(http.StatusOK, gin.H{"courses": list})
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
