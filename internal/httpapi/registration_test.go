package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestRegistration_is_accepted_and_then_decided(t *testing.T) {
	t.Parallel()
	s := start(t, place{redis: redistest.Start(t)})
	startWorker(t, s)
	s.addRun("go-1", seats(1))

	a := s.post("go-1", "Ada Lovelace", "ada@example.org")
	a.expect(http.StatusAccepted)
	r := a.registration()
	if self := s.base + "/v1/registrations/" + r.ID.String(); a.header.Get("Location") != self || r.Links.Self != self {
		t.Errorf("Location is %s and links.self %s, want both %s", a.header.Get("Location"), r.Links.Self, self)
	}
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
	if r.ID.Version() != 4 || r.Run != "go-1" || r.Status != "queued" || r.Final || r.Reason != nil || r.DecidedAt != nil ||
		r.Ticket != 1 || r.Position == nil || *r.Position != 1 || time.Since(r.AcceptedAt).Abs() > time.Minute {
		t.Errorf("accepted: %s", a.body)
	}
	if a.header.Get("ETag") == "" {
		t.Error("there is no ETag")
	}

	b := s.get(r.Links.Self + "?wait=20")
	b.expect(http.StatusOK)
	d := b.registration()
	if d.ID != r.ID || d.Status != "confirmed" || !d.Final || d.Reason != nil || d.Position != nil ||
		d.DecidedAt == nil || d.DecidedAt.Before(r.AcceptedAt) || !d.AcceptedAt.Equal(r.AcceptedAt) {
		t.Errorf("decided: %s", b.body)
	}
	if after := b.header.Get("Retry-After"); after != "" {
		t.Errorf("it is final and says Retry-After: %s", after)
	}
	if b.header.Get("ETag") == a.header.Get("ETag") {
		t.Error("the ETag did not change with the status")
	}
	if late := s.decided(s.register("go-1", "Grace Hopper", "grace@example.org")); late.outcome() != "rejected full" || late.Reason.Message == "" {
		t.Errorf("after the last seat the next is %+v", late)
	}
}

func TestRegistration_has_an_entity_tag(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	r := s.register("go-1", "Ada Lovelace", "ada@example.org")
	path := r.Links.Self
	tag := s.get(path).header.Get("ETag")
	for header, status := range map[string]int{
		tag:                            http.StatusNotModified,
		strings.TrimPrefix(tag, "W/"):  http.StatusNotModified,
		`"x", ` + tag + `, W/"y"`:      http.StatusNotModified,
		"*":                            http.StatusNotModified,
		`W/"0000000000000000"`:         http.StatusOK,
		strings.Trim(tag[2:], `"`):     http.StatusOK,
		strings.ToUpper(`W/"abcdef00`): http.StatusOK,
	} {
		a := s.poll(path, header)
		a.expect(status)
		if status == http.StatusNotModified && len(a.body) > 0 {
			t.Errorf("304 comes with a body: %q", a.body)
		}
		if got := a.header.Get("ETag"); got != tag {
			t.Errorf("with If-None-Match %s the ETag is %s, want %s", header, got, tag)
		}
	}
	a := s.do(call{method: http.MethodGet, path: path, header: http.Header{"If-None-Match": {`"x"`, tag}}})
	a.expect(http.StatusNotModified) // a list may be spread over lines

	s.register("go-1", "Grace Hopper", "grace@example.org")
	if got := s.get(path).header.Get("ETag"); got != tag {
		t.Error("the ETag changed without anything to tell")
	}
	s.settle()
	s.poll(path, tag).expect(http.StatusOK)
}

func TestTimingRegistration_wait(t *testing.T) {
	t.Parallel()
	s := start(t, place{maxWait: 20 * time.Second})
	id := s.addRun("go-1", seats(9))
	r := s.register("go-1", "Ada Lovelace", "ada@example.org")
	path := r.Links.Self
	tag := s.get(path).header.Get("ETag")

	// held sends requests and calls then once each of them was read and is held.
	held := func(then func(), calls ...func() answer) []answer {
		before := s.reads.ids.Load()
		answers := inTheBackground(calls...)
		testwait.Until(t, "the requests are held", func() bool { return s.reads.ids.Load() >= before+int64(len(calls)) })
		then()
		return answers()
	}

	t.Run("a wait that ends tells what there is", func(t *testing.T) {
		for _, a := range held(func() {},
			func() answer { return s.get(path + "?wait=1") },
			func() answer { return s.poll(path+"?wait=1", tag) },
		) {
			if a.took < time.Second {
				t.Errorf("wait=1 took %v", a.took)
			}
			testwait.Promised(t, "wait=1", a.took, 10*time.Second)
			if a.status == http.StatusOK && a.registration().Status != "queued" || a.status != http.StatusOK && a.status != http.StatusNotModified {
				t.Errorf("got %d %s", a.status, a.body)
			}
		}
	})
	t.Run("a tag that is not the registration's is answered at once", func(t *testing.T) {
		a := s.poll(path+"?wait=20", `W/"0000000000000000"`)
		a.expect(http.StatusOK)
		testwait.Promised(t, "wait=20", a.took, 10*time.Second)
	})
	t.Run("moving up wakes nobody, a decision does", func(t *testing.T) {
		next := s.register("go-1", "Grace Hopper", "grace@example.org").Links.Self
		one := func() { // the first of the two
			if _, err := s.store.Settle(t.Context(), []enroll.RunID{id}, enrolltest.SettleLimits(1)); err != nil {
				t.Error(err)
			}
			s.watch.Settled(id, 1, 1)
			s.watch.RefreshAll()
			testwait.Until(t, "the others were looked at and are held", func() bool {
				a := s.get(next)
				return a.status == http.StatusOK && *a.registration().Position == 1
			})
			s.settle()
		}
		for _, a := range held(one,
			func() answer { return s.get(next + "?wait=20") },
			func() answer { return s.poll(next+"?wait=20", s.get(next).header.Get("ETag")) },
			func() answer { return s.get(path + "?wait=20") },
			func() answer { return s.poll(path+"?wait=20", tag) },
			func() answer { return s.poll(path+"?wait=20", `"x", `+tag) },
		) {
			a.expect(http.StatusOK)
			if got := a.registration(); got.Status != "confirmed" {
				t.Errorf("it is %s", got.Status)
			}
			testwait.Promised(t, "wait=20", a.took, 10*time.Second)
		}
	})
	t.Run("what is decided is not held", func(t *testing.T) {
		a := s.get(path + "?wait=20")
		a.expect(http.StatusOK)
		testwait.Promised(t, "wait=20", a.took, 10*time.Second)
	})
	t.Run("out of range is refused by name", func(t *testing.T) {
		for _, wait := range []string{"-1", "21", "26", "x", "", "1.5", "1e1", "%201", "%2B5", "0x5", "1s", "99999999999999999999"} {
			a := s.do(call{method: http.MethodGet, path: path + "?wait=" + wait, bad: true})
			a.expectProblem(http.StatusUnprocessableEntity, "invalid", "wait")
		}
	})
	t.Run("zero does not wait", func(t *testing.T) {
		s.get(path + "?wait=0").expect(http.StatusOK)
	})
	t.Run("an unknown registration is not waited for", func(t *testing.T) {
		a := s.get("/v1/registrations/" + uuid.NewString() + "?wait=20")
		a.expectProblem(http.StatusNotFound, "not_found", "")
		testwait.Promised(t, "wait=20", a.took, 10*time.Second)
	})
}

func TestRegistration_is_found_by_its_id_alone(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1))
	r := s.register("go-1", "Ada Lovelace", "ada@example.org")
	id := r.ID.String()
	s.get("/v1/registrations/" + strings.ToUpper(id)).expect(http.StatusOK) // RFC 9562: case is insignificant
	for _, path := range []string{
		uuid.NewString(), uuid.Nil.String(), "1", "x", "%00", "%ff", "{" + id + "}", "urn:uuid:" + id,
		strings.ReplaceAll(id, "-", ""), id + "0", id[1:], id + "%20", id[:35] + "g", id + "/", id + "/x", "",
	} {
		a := s.do(call{method: http.MethodGet, path: "/v1/registrations/" + path, bad: true})
		a.expectProblem(http.StatusNotFound, "not_found", "")
	}
}
