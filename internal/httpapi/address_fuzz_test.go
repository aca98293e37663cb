package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/enroll"
)

// FuzzQuery: a query is understood as it was meant or refused by the name of the
// parameter.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "wait=20", "wait=-1", "wait=+1", "wait=26", "wait=", "wait=1&wait=x", "ticket=1&after=1", "ticket=0", "after=0", "after=9223372036854775807", "after=9223372036854775808",
		"format=csv", "format=CSV", "format=", "state=failed", "state=", "course=go-1", "course=Go", "registration=open", "registration=closed", "course=%00", "wait=%zz", "a;b", "wait=1_0", "wait=0x1", "ticket=1e3",
		"limit=1", "limit=200", "limit=201", "limit=0", "limit=", "limit=007", "after=" + joinCursor("go-1", "1789000000000000"), "after=" + joinCursor("go-1", "-1"), "after=" + joinCursor("go-1", "253402300800000000"), "after=" + joinCursor("go-1", "About\xff"), "after=" + joinCursor("go-1", "a\x00b"), "after=" + joinCursor("", "1"), "after=Z28=",
	} {
		f.Add(seed, "")
		f.Add(seed, "text/csv;q=0.5, */*")
	}
	a := &api{options: Options{MaxWait: 25 * time.Second}}
	f.Fuzz(func(t *testing.T, query, accept string) {
		c := asked("Accept", accept)
		c.Request.URL = &url.URL{Path: "/", RawQuery: query}
		given := c.Request.URL.Query()
		// check holds a refusal against the names that may be blamed for it.
		check := func(err error, names ...string) bool {
			if err == nil {
				return true
			}
			e, _ := errors.AsType[*enroll.Error](err)
			if e == nil || e.Code != enroll.Invalid || len(e.Faults) != 1 || !given.Has(e.Faults[0].Field) || !strings.Contains(strings.Join(names, " "), e.Faults[0].Field) {
				t.Errorf("%q: %v", query, err)
			}
			return false
		}
		// number asserts that a number is what the parameter says in digits, or 0
		// where it is not there.
		number := func(name string, n int64) {
			text := given.Get(name)
			if !given.Has(name) && n == 0 || strings.Trim(text, "0123456789") == "" && strings.TrimLeft(text, "0") == strings.TrimLeft(strconv.FormatInt(n, 10), "0") {
				return
			}
			t.Errorf("%q: %s is %d", query, name, n)
		}
		if wait, err := a.waitParameter(c); check(err, "wait") {
			if wait < 0 || wait > a.options.MaxWait {
				t.Errorf("%q: wait is %s", query, wait)
			}
			number("wait", int64(wait/time.Second))
		}
		if q, err := mailQuery(c); check(err, "state", "ticket", "after") {
			number("ticket", q.Ticket)
			number("after", q.After)
			if q.Ticket != 0 && given.Has("after") || q.Ticket == 0 && given.Has("ticket") || string(q.State) != given.Get("state") {
				t.Errorf("%q became %+v", query, q)
			}
		}
		if csv, err := wantsCSV(c); check(err, "format") && given.Has("format") && (csv && given.Get("format") != "csv" || !csv && given.Get("format") != "json") {
			t.Errorf("%q is CSV: %t", query, csv)
		}
		if q, err := runsQuery(c); check(err, "course", "registration", "state", "limit", "after") {
			if _, err := enroll.ParseSlug(q.Course); q.Course != given.Get("course") || q.Course != "" && err != nil || q.Open != (given.Get("registration") == "open") {
				t.Errorf("%q became %+v", query, q)
			}
			if q.Most < 1 || q.Most > pageMost {
				t.Errorf("%q: a page has %d", query, q.Most)
			}
			if given.Has("limit") {
				number("limit", int64(q.Most))
			}
			if given.Has("after") {
				c := asked("Accept", "")
				c.Request.URL = &url.URL{RawQuery: "after=" + runCursor(enroll.RunState{Run: enroll.Run{Slug: q.After.Slug, StartsAt: q.After.StartsAt}})}
				if again, err := runAfter(c); err != nil || again != q.After {
					t.Errorf("%q: %+v is read again as %+v, %v", query, q.After, again, err)
				}
			}
		}
		if after, err := courseAfter(c); check(err, "after") && (strings.Contains(after.Title, "\x00") || !utf8.ValidString(after.Slug+after.Title)) {
			t.Errorf("%q: no database reads %+q", query, after)
		}
	})
}

// FuzzPath: what a path names is what stands in it, written in the one way there
// is.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"", "go-1", "1", "01", "+1", "-1", "9223372036854775807", "9223372036854775808", "1.0", "7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55", "7B1D9A30-98A5-4B8E-9E63-6F0D2C1B7A55",
		"{7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55}", "urn:uuid:7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a55", "7b1d9a3098a54b8e9e636f0d2c1b7a55", "7b1d9a30-98a5-4b8e-9e63-6f0d2c1b7a5g", "a\x00", "\xff", "٣",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = &http.Request{Method: http.MethodGet}
		// known asserts that what is not accepted is not there.
		known := func(err error) bool {
			if err != nil && enroll.CodeOf(err) != enroll.NotFound {
				t.Errorf("%q: %v", text, err)
			}
			return err == nil
		}
		c.Params = gin.Params{{Key: "id", Value: text}, {Key: "run", Value: text}}
		if id, err := idParameter(c, "id", "registration"); known(err) && !strings.EqualFold(id.String(), text) {
			t.Errorf("%q is the id %s", text, id)
		}
		if run, err := runSlug(c); known(err) && run != text {
			t.Errorf("%q is the run %s", text, run)
		}
		c.Params = gin.Params{{Key: "run", Value: "go-1"}, {Key: "ticket", Value: text}}
		if run, ticket, err := ticketParameters(c); known(err) && (run != "go-1" || ticket < 1 || strconv.FormatInt(ticket, 10) != text) {
			t.Errorf("%q is the ticket %d", text, ticket)
		}
	})
}
