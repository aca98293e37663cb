package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
)

func TestRegisterInput_null_is_no_value(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	for _, field := range []string{"waitlist", "max_waitlist_position", "language"} {
		c := call{method: http.MethodPost, path: "/v1/runs/go-1/registrations", header: http.Header{"Content-Type": {"application/json"}}, bad: true,
			body: fmt.Sprintf(`{"name": "Ada", "email": "ada@example.org", %q: null}`, field)}
		s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", field)
	}
}
