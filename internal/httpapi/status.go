package httpapi

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// getRegistration answers GET /v1/registrations/{id}?wait=N. With wait, it holds
// the answer until the registration differs from what If-None-Match names, or
// without that header until it is decided.
func (a *api) getRegistration(c *gin.Context) error {
	ctx := c.Request.Context()
	id, err := idParameter(c, "id", "registration")
	if err != nil {
		return err
	}
	wait, err := a.waitParameter(c)
	if err != nil {
		return err
	}
	known := strings.Join(c.Request.Header.Values("If-None-Match"), ",") // one list, however many lines
	var r enroll.Registration
	if wait > 0 {
		r, err = a.watch.Wait(ctx, id, wait, func(r enroll.Registration) bool {
			if known != "" {
				return !matches(known, etag(r))
			}
			return r.Status != enroll.Queued
		})
	} else {
		r, err = a.watch.Get(ctx, id)
	}
	if err != nil {
		if enroll.CodeOf(err) == enroll.Busy { // only if it would have to wait
			c.Header("Connection", "close") // and not keep its connection in place of that
		}
		return err
	}
	c.Set(runKey, r.Run)
	c.Set(ticketKey, r.Ticket)
	describe(c, r)
	if matches(known, etag(r)) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	return a.showWithPlace(c, http.StatusOK, r)
}

// showWithPlace answers with the registration. Its place on the waiting list is
// looked up for the one answer that is sent, and not for all who wait for one.
func (a *api) showWithPlace(c *gin.Context, status int, r enroll.Registration) error {
	if r.Status == enroll.Waitlisted {
		ctx, cancel := reading(c)
		defer cancel()
		var err error
		if r.WaitlistPosition, err = a.line.WaitlistPosition(ctx, r); err != nil {
			return err
		}
	}
	c.JSON(status, a.showRegistration(r))
	return nil
}

// idParameter returns the UUID that the path names. What is none cannot be the
// noun's.
func idParameter(c *gin.Context, name, noun string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil || len(c.Param(name)) != 36 { // the library reads other forms, too
		return uuid.Nil, enroll.Errorf(enroll.NotFound, "there is no such %s", noun)
	}
	return id, nil
}

func (a *api) waitParameter(c *gin.Context) (time.Duration, error) {
	text, given := c.GetQuery("wait")
	if !given {
		return 0, nil
	}
	most := int(a.options.MaxWait / time.Second)
	seconds, err := strconv.ParseUint(text, 10, 31) // takes no sign
	if err != nil || int(seconds) > most {
		return 0, enroll.FaultIn("wait", enroll.Invalid, "range", fmt.Sprintf("must be a whole number of seconds from 0 to %d", most))
	}
	return time.Duration(seconds) * time.Second, nil
}

// describe sets the headers that belong to a registration.
func describe(c *gin.Context, r enroll.Registration) {
	c.Header("Etag", etag(r)) // as the library writes it, which costs nothing then
	c.Header("Cache-Control", "private, no-cache")
	if seconds := retryAfter(r); seconds > 0 {
		c.Header("Retry-After", strconv.Itoa(seconds))
	}
}

// retryAfter returns after how many seconds it is worth asking again, 0 if
// nothing is going to change by itself: longer when the line is longer, at a pace
// that a line keeps easily, and rarely while a person waits for a cancellation.
func retryAfter(r enroll.Registration) int {
	const perSecond, most = 1000, 30
	switch {
	case r.Status == enroll.Queued:
		return int(min(1+r.Position()/perSecond, most))
	case r.Cancellation.Status == enroll.Queued:
		return int(min(1+max(r.Cancellation.Ticket-r.SettledTicket, 0)/perSecond, most))
	case !r.Status.Final():
		return most
	}
	return 0
}

// etag covers what a person must be told, and not the positions: moving up wakes
// nobody. It is weak because of that (RFC 9110, 8.8.1).
func etag(r enroll.Registration) string {
	text := make([]byte, 0, 128)
	text = append(text, r.ID[:]...)
	for _, word := range []string{string(r.Status), string(r.Reason), string(r.Cancellation.Status)} {
		text = append(append(text, ' '), word...)
	}
	for _, n := range []int64{r.DecidedAt.UnixMicro(), r.ChangedAt.UnixMicro(), r.Cancellation.Ticket} {
		text = strconv.AppendInt(append(text, ' '), n, 10)
	}
	h := fnv.New64a()
	_, _ = h.Write(text)
	return `W/"` + hex.EncodeToString(h.Sum(nil)) + `"`
}

// matches tells whether an If-None-Match header names the tag, by weak
// comparison (RFC 9110, 13.1.2).
func matches(header, tag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for each := range strings.SplitSeq(header, ",") {
		if strings.TrimPrefix(strings.TrimSpace(each), "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
