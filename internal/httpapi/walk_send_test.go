package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// send sends a request, so many times at once, and checks the answers.
func (h *world) send(r request, times ...int) {
	h.t.Helper()
	n := append(times, 1)[0]
	replies, all := make([]reply, n), sync.WaitGroup{}
	for i := range n {
		all.Go(func() { replies[i] = h.exchange(r.call) })
	}
	all.Wait()
	for _, a := range replies {
		h.take(r, a)
	}
}

// reply is what came back for a request.
type reply struct {
	answer
	broken error // no answer came, or one that the document does not know
}

func (h *world) exchange(c call) (a reply) {
	r, err := http.NewRequestWithContext(h.service.t.Context(), c.method, h.base+c.path, strings.NewReader(c.body))
	if err != nil {
		return reply{broken: fmt.Errorf("the test makes no request of it: %w", err)}
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	response, err := h.http.Do(r)
	if err != nil {
		return reply{broken: err}
	}
	defer response.Body.Close()
	a.status, a.header = response.StatusCode, response.Header
	if a.body, a.broken = io.ReadAll(response.Body); a.broken == nil {
		a.broken = h.contract.check(r, []byte(c.body), c.bad, response, a.body)
	}
	return a
}

// take checks an answer and remembers what it tells.
func (h *world) take(r request, a reply) {
	h.t.Helper()
	h.requests++
	name := r.operation.method + " " + r.operation.path
	if h.answered[name] == nil {
		h.answered[name] = make(map[int]int)
	}
	h.answered[name][a.status]++
	h.t.Logf("%s %s %v %q\n → %d %v %.1000q", r.method, r.path, r.header, r.body, a.status, a.header, a.body)
	switch {
	case a.broken != nil:
		h.t.Fatalf("%s %s: %v", r.method, r.path, a.broken)
	case a.status >= 500:
		h.t.Fatalf("%s %s is answered with %d: %s", r.method, r.path, a.status, a.body)
	}
	if a.status >= 400 {
		if r.method == http.MethodHead {
			return
		}
		var p problem
		if err := decodeAll(a.body, &p); err != nil || p.Status != a.status || p.RequestID != a.header.Get("X-Request-ID") {
			h.t.Fatalf("%s %s is refused with %s, %v", r.method, r.path, a.body, err)
		}
		if !r.bad && !slices.Contains([]string{"not_found", "not_open", "closed", "over", "called_off", "begun", "not_held", "conflict", "cancel_waits", "corrected", "obsolete", "key_reused", "last_admin", "draft", "wrong_state", "version_changed"}, p.Code) &&
			(p.Code != "invalid" || !r.odd) {
			h.t.Fatalf("%s %s is as the document wants it, and refused: %s", r.method, r.path, a.body)
		}
		return
	}
	h.learn(r, a)
}

// learn remembers what an answer tells, so that deeper states are reached.
func (h *world) learn(r request, a reply) {
	h.t.Helper()
	if tag := a.header.Get("ETag"); tag != "" {
		h.note("If-None-Match", tag)
	}
	if noun := map[string]string{"addAccount": "account", "addToken": "token"}[r.operation.OperationID]; noun != "" && a.status == http.StatusCreated {
		var added struct{ ID int64 }
		if err := json.Unmarshal(a.body, &added); err != nil {
			h.t.Fatal(err)
		}
		h.note(noun, fmt.Sprint(added.ID))
		return
	}
	if noun := map[string]string{"addCourse": "course", "addRun": "run"}[r.operation.OperationID]; noun != "" && a.status == http.StatusCreated {
		h.note(noun, fmt.Sprint(r.members["slug"]))
		return
	}
	var told struct {
		ID      string
		Ticket  int64
		Mails   []struct{ ID string }
		Entries []struct{ Ticket int64 }
	}
	if json.Unmarshal(a.body, &told) != nil { // CSV, a calendar, or nothing
		return
	}
	if told.Ticket != 0 {
		h.note("ticket", fmt.Sprint(told.Ticket))
	}
	for _, m := range told.Mails {
		h.note("mail", m.ID)
	}
	switch id := r.operation.OperationID; {
	case id == "resendMail":
		h.note("mail", told.ID)
	case id == "register" && a.status == http.StatusAccepted:
		if len(h.known["id"]) == 0 { // one in each world: there are many lines to look through
			h.log.watchFor(told.ID)
		}
		h.note("id", told.ID)
		location := strings.TrimPrefix(a.header.Get("Location"), h.base)
		again := h.exchange(call{method: http.MethodGet, path: location})
		var here, there registration
		if err := decodeAll(a.body, &here); err != nil || again.broken != nil || again.status != http.StatusOK {
			h.t.Fatalf("what was accepted cannot be read: %v, %d, %v", err, again.status, again.broken)
		}
		if err := decodeAll(again.body, &there); err != nil || there.ID != here.ID || there.Ticket != here.Ticket || there.Run != here.Run || !there.AcceptedAt.Equal(here.AcceptedAt) {
			h.t.Fatalf("accepted was %s, and there is %s", a.body, again.body)
		}
	}
}

// note remembers a value. Twice is once, so that requests at the same time leave
// no trace of who was first.
func (h *world) note(name, value string) {
	if !slices.Contains(h.known[name], value) {
		h.known[name] = append(h.known[name], value)
	}
}
