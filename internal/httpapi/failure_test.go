package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/httpapi"
)

// broken is a catalogue with defects.
type broken struct{ httpapi.Catalogue }

const cause = "the cause, which is ours alone"

func (broken) Courses(context.Context, enroll.CourseQuery) ([]enroll.Course, error) { panic(cause) }
func (broken) Course(context.Context, string) (enroll.Course, error) {
	return enroll.Course{}, errors.New(cause)
}
func (broken) Run(context.Context, string) (enroll.RunState, error) {
	return enroll.RunState{}, enroll.Errorf("a code that nobody knows", "%w", errors.New(cause))
}

func TestFailure_is_a_problem_that_keeps_its_cause_to_itself(t *testing.T) {
	t.Parallel()
	s := start(t, place{catalogue: func(c httpapi.Catalogue) httpapi.Catalogue { return broken{c} }})
	for _, path := range []string{"/v1/courses", "/v1/courses/x", "/v1/runs/x"} {
		a := s.get(path)
		a.expectProblem(http.StatusInternalServerError, "internal", "")
		if strings.Contains(string(a.body), cause) {
			t.Errorf("%s tells %s", path, a.body)
		}
		if !strings.Contains(s.log.String(), a.header.Get("X-Request-ID")) {
			t.Errorf("%s is not in the log", path)
		}
	}
	if n := strings.Count(s.log.String(), cause); n < 3 {
		t.Errorf("the log tells the cause %d times, want 3", n)
	}
	s.get("/v1/runs").expect(http.StatusOK) // the others go on
}
