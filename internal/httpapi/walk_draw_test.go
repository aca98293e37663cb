package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// request is a call of an operation.
type request struct {
	call
	operation operation
	members   map[string]any // of the body, if it has one
	// odd tells that it is as the document's schemas want it and not as its
	// sentences do.
	odd bool
}

// What a schema cannot say of a value, by its name.
var (
	people    = []string{"Ada Lovelace", " Grace\t", "=1+1", "Zoë 👩‍👩‍👧‍👦", "x", strings.Repeat("𠮷", 200), `"Bobby"; DROP TABLE requests;--`, "http://x.example"}
	mailboxes = []string{"ada@example.org", "ADA@Example.ORG", "grace+x@example.org", "zoë@x", "eve@bücher.example", "eve@xn--bcher-kva.example", " bob@example.org", strings.Repeat("l", 64) + "@example.org"}
	keys      = []string{"k-1", `"k-1"`, "k-2", `"a\"b"`, "~", strings.Repeat("k", 255)}
)

// draw makes a request of an operation out of its parameters and schemas.
func (h *world) draw(o operation) request {
	r := request{operation: o, call: call{method: o.method, path: o.path, header: make(http.Header)}}
	query := make(url.Values)
	for _, p := range o.parameters {
		switch {
		case p.In == openapi3.ParameterInPath:
			r.path = strings.ReplaceAll(r.path, "{"+p.Name+"}", url.PathEscape(h.value(p.Name, p.Schema.Value)))
		case !p.Required && !h.chance("with "+p.Name, 3):
		case p.In == openapi3.ParameterInQuery:
			query.Set(p.Name, h.value(p.Name, p.Schema.Value))
		default:
			r.header.Set(p.Name, h.value(p.Name, p.Schema.Value))
		}
	}
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	// These may be longer than the installation holds an answer, say two things, or
	// be a cursor that no page has named.
	r.odd = len(query.Get("wait")) > 0 && query.Get("wait") > "1" || query.Has("after") && (query.Has("ticket") || paged(o))

	if o.Security != nil {
		mustShow := !slices.ContainsFunc(*o.Security, func(s openapi3.SecurityRequirement) bool { return len(s) == 0 })
		shows := !h.chance("without a token", 20)
		if !mustShow {
			shows = h.chance("with a token", 3)
		}
		if shows {
			r.header.Set("Authorization", bearer)
		} else {
			r.bad = true // it may need one
		}
	}
	if o.RequestBody != nil {
		r.header.Set("Content-Type", "application/json")
		r.members = h.object(o.RequestBody.Value.Content["application/json"].Schema.Value)
		r.body = written(r.members)
		if wants, is := r.members["waitlist"].(bool); is && !wants && r.members["max_waitlist_position"] != nil {
			r.odd = true
		}
		// An admin of one course, a late expiry, an end before its begin.
		if slices.Contains([]string{"grantRole", "revokeRole", "addToken", "addCourse", "changeCourse", "addRun", "changeRun"}, o.OperationID) {
			r.odd = true
		}
		if r.members["email"] == mailboxes[3] { // not before the @
			r.odd = true
		}
	}
	return r
}

func written(members map[string]any) string {
	text, err := json.Marshal(members)
	if err != nil {
		panic(err) // it was drawn
	}
	return string(text)
}

// evenly draws 0 to 255, each as often as the others. Left to itself, rapid
// prefers numbers at the edges.
var evenly = rapid.Custom(func(t *rapid.T) (n int) {
	for range 8 {
		n *= 2
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
})

// chance is true once in so many times, 256 at most.
func chance(t *rapid.T, what string, in int) bool { return evenly.Draw(t, what) >= 256-256/in }

func (h *world) chance(what string, in int) bool { return chance(h.t, what, in) }

// paged tells whether after is a cursor there, and no ticket.
func paged(o operation) bool {
	return o.path == "/v1/courses" || o.path == "/v1/runs" || o.path == "/v1/accounts" || o.path == "/v1/audit"
}

// value draws a parameter: mostly one that means something here.
func (h *world) value(name string, s *openapi3.Schema) string {
	known := h.known[name]
	switch name {
	case "after":
		known = h.known["ticket"]
	case "wait":
		known = []string{"0"} // a second is long for a test
	case "Idempotency-Key":
		known = keys
	case "If-Match":
		known = []string{"*", "*", `"1"`, `"2"`}
	}
	if len(known) > 0 && !h.chance("a strange "+name, 12) {
		return rapid.SampledFrom(known).Draw(h.t, name)
	}
	if name == "If-Match" {
		return rapid.StringMatching(`(W/)?"[0-9a-f]{0,16}"|\*`).Draw(h.t, name)
	}
	if name == "If-None-Match" { // any text is one, and few can be sent
		return rapid.StringMatching(`(W/)?"[0-9a-f]{0,16}"|\*|[ -~]{0,20}`).Draw(h.t, name)
	}
	return fmt.Sprint(h.any(name, s))
}

// object draws a body with what it must have and some of what it can have.
func (h *world) object(s *openapi3.Schema) map[string]any {
	members := make(map[string]any)
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(s.Required, name) || h.chance("with "+name, 3) {
			members[name] = h.any(name, s.Properties[name].Value)
		}
	}
	if len(members) < int(s.MinProps) {
		name := rapid.SampledFrom(names).Draw(h.t, "with")
		members[name] = h.any(name, s.Properties[name].Value)
	}
	return members
}

// any draws a value that a schema allows.
func (h *world) any(name string, s *openapi3.Schema) any {
	t := h.t
	switch name {
	case "name":
		fits := func(v string) bool { return s.MaxLength == nil || len([]rune(v)) <= int(*s.MaxLength) }
		return rapid.SampledFrom(people).Filter(fits).Draw(t, name)
	case "email", "reply_to":
		return rapid.SampledFrom(mailboxes).Draw(t, name)
	case "title", "organiser", "location", "description":
		return rapid.SampledFrom(people).Draw(t, name)
	case "time_zone":
		return rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "UTC", "Mars"}).Draw(t, name)
	case "opens_at", "closes_at", "starts_at", "ends_at", "promote_until":
		hours := map[string]int{"opens_at": -1, "closes_at": 1, "starts_at": 2, "ends_at": 3, "promote_until": 2}[name]
		at := time.Now().Add(time.Duration(hours) * time.Hour)
		return rapid.SampledFrom([]string{at.Format(time.RFC3339), at.Format(time.RFC3339), at.AddDate(0, 0, 1).Format("2006-01-02T15:04"), "2027-03-28T02:30"}).Draw(t, name)
	case "slug":
		return fmt.Sprintf("new-%d-%d", h.checks, h.requests)
	}
	switch {
	case len(s.OneOf) == 2: // a value, or null
		return rapid.SampledFrom([]any{nil, h.course}).Draw(t, name)
	case s.Type.Includes("null") && h.chance(name+" is null", 4):
		return nil
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, name)
	case s.Format == "uuid":
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name)).String()
	case s.Pattern != "":
		most := 1 << 10
		if s.MaxLength != nil {
			most = int(*s.MaxLength)
		}
		return rapid.StringMatching(s.Pattern).Filter(func(v string) bool { return len(v) <= most }).Draw(t, name)
	case s.Type.Includes("boolean"):
		return rapid.Bool().Draw(t, name)
	case s.Type.Includes("integer"):
		least, most := int64(*s.Min), int64(1)<<62
		if s.Max != nil {
			most = int64(*s.Max)
		}
		return rapid.OneOf(rapid.Int64Range(least, min(least+3, most)), rapid.Int64Range(least, most)).Draw(t, name)
	case s.Type.Includes("object"):
		return h.object(s)
	case s.Format == "date-time":
		return time.Now().Add(time.Duration(rapid.IntRange(-1, 40_000).Draw(t, name)) * time.Hour).Format(time.RFC3339)
	case s.Type.Includes("array"):
		return []string{h.course}
	}
	t.Fatalf("the test knows no value for %s", name)
	return nil
}
