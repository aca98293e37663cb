package httpapi

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

// How many entries a page of a list has, and may have.
const (
	pageDefault = 100
	pageMost    = 200
)

// limitParameter returns how many entries the page is to have.
func limitParameter(c *gin.Context) (int, error) {
	text, given := c.GetQuery("limit")
	if !given {
		return pageDefault, nil
	}
	n, err := strconv.ParseUint(text, 10, 31) // takes no sign
	if err != nil || n < 1 || n > pageMost {
		return 0, enroll.FaultIn("limit", enroll.Invalid, "range", fmt.Sprintf("must be a whole number from 1 to %d", pageMost))
	}
	return int(n), nil
}

// showPage answers with the first most entries of a list, under its name, and
// with the address of the next page. The list was read with one entry more: if
// that is there, so is a next page.
func showPage[T, J any](a *api, c *gin.Context, name string, list []T, most int, show func(T) J, cursor func(T) string) {
	var next *string
	if len(list) > most {
		list = list[:most]
		next = a.nextPage(c, cursor(list[most-1]))
	}
	shown := make([]J, len(list))
	for i, entry := range list {
		shown[i] = show(entry)
	}
	c.PureJSON(http.StatusOK, gin.H{name: shown, "next": next}) // & in an address stays one
}

// nextPage returns the address of the list from the cursor on, which keeps the
// request's other parameters.
func (a *api) nextPage(c *gin.Context, cursor string) *string {
	query := url.Values{}
	for _, name := range []string{"course", "registration", "state", "run", "limit"} {
		if value, given := c.GetQuery(name); given {
			query.Set(name, value)
		}
	}
	query.Set("after", cursor)
	next := a.options.PublicURL + c.FullPath() + "?" + query.Encode()
	return &next
}

// A cursor is opaque to clients: it names the last entry of a page by what the
// list is ordered by, and stays good if that entry changes or goes.

func runCursor(r enroll.RunState) string {
	return joinCursor(r.Slug, strconv.FormatInt(r.StartsAt.UnixMicro(), 10))
}

func courseCursor(c enroll.Course) string { return joinCursor(c.Slug, c.Title) }

// runAfter returns the run that the request's after parameter names.
func runAfter(c *gin.Context) (enroll.RunCursor, error) {
	slug, start, err := cursorParameter(c)
	if err != nil || slug == "" {
		return enroll.RunCursor{}, err
	}
	micros, err := strconv.ParseInt(start, 10, 64)
	at := time.UnixMicro(micros).UTC()
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return enroll.RunCursor{}, errCursor
	}
	return enroll.RunCursor{StartsAt: at, Slug: slug}, nil
}

// courseAfter returns the course that the request's after parameter names.
func courseAfter(c *gin.Context) (enroll.CourseCursor, error) {
	slug, title, err := cursorParameter(c)
	return enroll.CourseCursor{Title: title, Slug: slug}, err
}

var errCursor = enroll.FaultIn("after", enroll.Invalid, "form", "must come from the next link of another page of this list")

func joinCursor(slug, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(slug + "\x00" + key))
}

// cursorParameter returns the two parts of the request's after parameter, both
// empty if there is none.
func cursorParameter(c *gin.Context) (slug, key string, err error) {
	text, given := c.GetQuery("after")
	if !given {
		return "", "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "\x00")
	if err != nil || len(parts) != 2 || parts[0] == "" || !utf8.Valid(raw) {
		return "", "", errCursor
	}
	return parts[0], parts[1], nil
}
