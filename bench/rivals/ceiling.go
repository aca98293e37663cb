package rivals

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// ceiling parses, validates and answers, which any contender must.
var ceiling = Contender{
	Name:  Ceiling,
	What:  "parses, validates and answers 202; decides nothing",
	Lacks: "everything",
	Async: true,
	Pools: []int{1},
	open:  func(context.Context, *server) (backend, error) { return nothing{}, nil },
}

type nothing struct{}

func (nothing) ask(context.Context, int32, person) (outcome, error) { return queued, nil }

// hold answers GET /v1/registrations/{id}?wait=N as if nothing ever happened: after
// that many seconds, that nothing has changed.
func (s *server) hold(c *gin.Context) {
	seconds, err := strconv.ParseUint(c.Query("wait"), 10, 5)
	if err != nil || s.Contender.Name != Ceiling {
		s.problem(c, http.StatusNotFound, "not_found")
		return
	}
	wait := time.NewTimer(time.Duration(seconds) * time.Second)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.Request.Context().Done():
	}
	c.Header("ETag", c.GetHeader("If-None-Match"))
	c.Status(http.StatusNotModified)
	c.Writer.WriteHeaderNow()
}
