package httpapi_test

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// walkTime is how long the API is walked over, unless -rapid.checks says how
// often.
const walkTime = 4 * time.Second

// operation is one of docs/openapi.yaml.
type operation struct {
	*openapi3.Operation
	method, path string
	parameters   []*openapi3.Parameter
}

// walk asks the API for everything in its document, in any order, well and badly.
type walk struct {
	*service
	operations []operation
	checks     int
	requests   int
	answered   map[string]map[int]int // operation → status → how often
}

// world is what one check knows, which begins with runs of its own.
type world struct {
	*walk
	t      *rapid.T
	course string
	runs   []string
	known  map[string][]string // what answers have told, by the name of the parameter that takes it
}

// TestWalk makes requests out of the document itself. Whatever they are and
// whatever was before: it is never our fault, and always answered as the document
// says. A failure says with which seed it comes again; -rapid.checks=5000 walks
// for as long as that takes.
func TestWalk(t *testing.T) {
	t.Parallel()
	w := &walk{service: start(t, place{maxWait: time.Second}), answered: make(map[string]map[int]int)}
	w.operations = operationsOf(w.contract.doc)
	w.addCourse("course")

	end := time.Now().Add(walkTime)
	counted := flag.Lookup("rapid.checks").Value.String() != flag.Lookup("rapid.checks").DefValue
	failed := false // what has failed is made smaller, however late it is
	rapid.Check(t, func(t *rapid.T) {
		if !counted && !failed && time.Now().After(end) {
			return
		}
		well := false
		defer func() { failed = failed || !well }()
		w.once(t)
		well = !t.Failed()
	})
	w.settle()
	pgtest.RequireSound(t, w.place.database)
	w.report()
}

func operationsOf(doc *openapi3.T) (all []operation) {
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			one := operation{Operation: o, method: method, path: path}
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				one.parameters = append(one.parameters, p.Value)
			}
			all = append(all, one)
			if method == http.MethodGet {
				one.method = http.MethodHead
				all = append(all, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method)) })
	return all
}

// report fails the test if there is an operation that never went well: then it
// was not walked over.
func (w *walk) report() {
	w.t.Helper()
	w.t.Logf("%d requests in %d checks, by which the lines have %v", w.requests, w.checks, w.sql(`
		SELECT count(*) || ' ' || concat_ws(' ', kind, status, reason) || CASE WHEN changed_at IS NULL THEN '' ELSE ' later' END
		FROM requests GROUP BY kind, status, reason, changed_at IS NULL ORDER BY 1`))
	for _, o := range w.operations {
		name := o.method + " " + o.path
		w.t.Logf("%-55s %v", name, w.answered[name])
		well := 0
		for status, n := range w.answered[name] {
			if status < 300 {
				well += n
			}
		}
		if well == 0 && w.requests > 2000 {
			w.t.Errorf("%s has never been answered well", name)
		}
	}
}

// once takes some steps in a world of its own.
func (w *walk) once(t *rapid.T) {
	w.checks++
	h := &world{walk: w, t: t, course: fmt.Sprintf("course-%d", w.checks), known: make(map[string][]string)}
	limit := rapid.SampledFrom([]*int{seats(0), seats(1), seats(2), nil})
	for i, window := range []string{"open", rapid.SampledFrom([]string{"open", "to come", "closed", "begun", "over"}).Draw(t, "the other run is")} {
		slug := fmt.Sprintf("run-%d-%d", w.checks, i)
		w.addRun(slug, limit.Draw(t, "seats"), withList(limit.Draw(t, "places")), func(r *enroll.Run) {
			r.Course = h.course
			switch window {
			case "to come":
				r.OpensAt = r.OpensAt.Add(90 * time.Minute)
			case "closed":
				r.ClosesAt = r.OpensAt.Add(time.Minute)
			case "over":
				r.StartsAt, r.EndsAt = r.OpensAt, r.OpensAt.Add(time.Minute)
			case "begun":
				r.StartsAt = r.OpensAt
			}
		})
		h.runs = append(h.runs, slug)
	}
	h.known["run"], h.known["course"] = h.runs, []string{h.course}
	actions := map[string]func(*rapid.T){
		"settle": func(*rapid.T) { w.settle() },
		"post":   func(*rapid.T) { h.post() },
		"a spoilt request": func(*rapid.T) {
			h.send(h.spoil(h.draw(h.anyOperation())))
		},
		"the same request several times at once": func(*rapid.T) {
			h.send(h.draw(h.anyOperation()), 3)
		},
		"no request of the document": func(*rapid.T) {
			h.send(request{operation: operation{Operation: &openapi3.Operation{}}, call: call{method: method.Draw(t, "method"), path: "/" + h.drawPath("path"), bad: true}})
		},
		"bytes": func(*rapid.T) { h.sendBytes() },
	}
	for _, name := range []string{"a request", "another request", "one request more"} { // what is well asked for gets furthest
		actions[name] = func(*rapid.T) { h.send(h.draw(h.anyOperation())) }
	}
	// People come first, or there is nothing to do with them.
	register := slices.IndexFunc(w.operations, func(o operation) bool { return o.OperationID == "register" })
	for range rapid.IntRange(0, 6).Draw(t, "people") {
		h.send(h.draw(w.operations[register]))
	}
	for range 3 {
		t.Repeat(actions)
	}
}

func (h *world) anyOperation() operation {
	// Asking for links takes a tenth of a second, and after the others little
	// happens any more.
	last := []string{"requestLinks", "callOff", "closeWaitlist"}
	rare := h.chance("something rare", 24)
	all := slices.DeleteFunc(slices.Clone(h.operations), func(o operation) bool { return slices.Contains(last, o.OperationID) != rare })
	return all[evenly.Draw(h.t, "operation")%len(all)]
}

// post sends the mails that are due, or fails to.
func (h *world) post() {
	ctx := h.service.t.Context()
	due, err := h.store.MailsDue(ctx, 3)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, each := range due {
		m, err := h.store.ClaimMail(ctx, each, enroll.ClaimLimits{Lease: time.Minute})
		if enroll.CodeOf(err) == enroll.NotFound {
			continue
		}
		end := enroll.MailAttempt{State: rapid.SampledFrom([]enroll.MailState{enroll.MailSent, enroll.MailFailed, enroll.MailSkipped}).Draw(h.t, "the mail is")}
		if end.State == enroll.MailFailed {
			end.Problem = "no such user"
		}
		if err == nil {
			err = h.store.EndMailAttempt(ctx, m.ID, m.Attempt, end)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}
