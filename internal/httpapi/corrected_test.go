package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/testwait"
)

// corrected expects an answer that says that the registration was corrected, and
// nothing of it.
func (a answer) corrected(s *service) {
	a.t.Helper()
	a.expectProblem(http.StatusGone, "corrected", "")
	text := fmt.Sprint(a.header) + string(a.body)
	for _, secret := range append(s.sql(`SELECT id::text FROM requests`), "registrations/", `"ticket"`, "example.org", "Ada", "Right") {
		if strings.Contains(text, secret) {
			a.t.Errorf("it says %q: %s", secret, text)
		}
	}
}

// TestCorrected_address: the owner of a mistyped address has the old link, and
// nothing comes of it. The right person has another one.
func TestCorrected_address(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(1), withList(nil))
	r := s.register("go-1", ada, "ada@mistyped.example", key, "k")
	s.register("go-1", "Grace Hopper", "grace@example.org")
	s.settle()
	old := s.get(r.Links.Self)
	entry := s.get(r.Links.Self + "/calendar.ics")
	entry.expect(http.StatusOK)
	const right = `{"name": "Right Person", "email": "right@example.org"}`
	s.organise(http.MethodPatch, "/v1/runs/go-1/registrations/1", right).expect(http.StatusOK)

	t.Run("the old link is gone", func(t *testing.T) {
		s.get(r.Links.Self).corrected(s)
		s.get(r.Links.Self + "?wait=20").corrected(s)
		s.poll(r.Links.Self+"?wait=20", old.header.Get("Etag")).corrected(s)
		s.get(r.Links.Self + "/calendar.ics").corrected(s)
		s.cancel(r).corrected(s)
		s.get("/v1/registrations/"+uuid.NewString()).expectProblem(http.StatusNotFound, "not_found", "")
	})
	t.Run("a replay of the request is told so", func(t *testing.T) {
		s.post("go-1", ada, "ada@mistyped.example", key, "k").corrected(s)
		s.post("go-1", "Right Person", "right@example.org", key, "k").expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
		s.exec(`UPDATE requests SET digest = NULL`) // an older program's: what it said is not known
		s.post("go-1", ada, "ada@mistyped.example", key, "k").corrected(s)
		s.post("go-1", "Right Person", "right@example.org", key, "k").corrected(s)
	})
	if got := s.sql(`SELECT count(*)::text FROM requests`); got[0] != "2" {
		t.Errorf("%s requests are in the line", got[0])
	}
	t.Run("the new link works", func(t *testing.T) {
		id := s.sql(`SELECT id::text FROM requests WHERE ticket = 1`)[0]
		s.log.watchFor(id)
		now := s.get("/v1/registrations/" + id)
		if got := now.registration(); got.outcome() != "confirmed" || got.Ticket != 1 || now.header.Get("Etag") == old.header.Get("Etag") {
			t.Errorf("got %s", now.body)
		}
		uid := func(text string) string {
			_, rest, _ := strings.Cut(text, "UID:")
			id, _, _ := strings.Cut(rest, "\r\n")
			return id
		}
		if again := s.get("/v1/registrations/" + id + "/calendar.ics"); uid(string(again.body)) == uid(string(entry.body)) {
			t.Error("both addresses have one calendar entry")
		}
		s.do(call{method: http.MethodDelete, path: "/v1/registrations/" + id}).expect(http.StatusAccepted)
		s.organise(http.MethodPatch, "/v1/runs/go-1/registrations/1", right).expectProblem(http.StatusConflict, "cancel_waits", "")
		s.settle()
	})
	t.Run("an organiser sees where mails went, until they forget it", func(t *testing.T) {
		var got []string
		for _, m := range s.mails("go-1", "?ticket=1") {
			got = append(got, fmt.Sprintf("%s %s %s", m.Kind, m.State, m.Email))
		}
		slices.Sort(got)
		want := []string{"cancelled pending right@example.org", "confirmed pending right@example.org", "confirmed skipped right@example.org",
			"mistaken_address pending ada@mistyped.example"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		s.exec(`UPDATE mails SET state = 'sent', ended_at = now() WHERE kind = 'mistaken_address'`)
		for _, m := range s.mails("go-1", "?ticket=1&state=sent") {
			if m.Email != "" {
				t.Errorf("it still shows %s", m.Email)
			}
			s.organise(http.MethodPost, "/v1/runs/go-1/mails/"+m.ID.String()+"/resend", "").corrected(s)
		}
	})
}

// TestCorrected_address_ends_polls that are held with the old id.
func TestCorrected_address_ends_polls(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail)
	s.settle()
	tag := s.get(r.Links.Self).header.Get("Etag")
	poll := inTheBackground(func() answer { return s.poll(r.Links.Self+"?wait=25", tag) })
	testwait.Until(t, "a poll is held", func() bool { return s.watch.Waiting() == 1 })
	s.organise(http.MethodPatch, "/v1/runs/go-1/registrations/1", `{"name": "Right Person", "email": "right@example.com"}`).expect(http.StatusOK)
	poll()[0].corrected(s)
}

// TestCorrected_address_after_it_was_read: a cancel by the old link is refused
// even if the link was good when the request came in.
func TestCorrected_address_after_it_was_read(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail)
	s.settle()
	release := s.block("go-1")
	correcting := inTheBackground(func() answer {
		return s.organise(http.MethodPatch, "/v1/runs/go-1/registrations/1", `{"name": "Right Person", "email": "right@example.com"}`)
	})
	s.blocked(1)
	cancelling := inTheBackground(func() answer { return s.cancel(r) }) // it finds the registration, and waits for the line
	s.blocked(2)
	release()
	correcting()[0].expect(http.StatusOK)
	cancelling()[0].corrected(s)
	s.settle()
	if got := s.sql(`SELECT status FROM requests`); len(got) != 1 || got[0] != "confirmed" {
		t.Errorf("got %v", got)
	}
}
