package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/httpapi"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestKey_belongs_to_a_kind_of_caller: who sends an organiser's key gets neither
// its rights nor its registration, in one batch or one after the other.
func TestKey_belongs_to_a_kind_of_caller(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	now := time.Now()
	const body = `{"name": "Ada Lovelace", "email": "ada@example.org"}`
	outside := strings.TrimSuffix(body, "}") + `, "outside_window": true}`

	t.Run("in one batch", func(t *testing.T) {
		s.addRun("closed", nil, window(now.Add(-2*time.Hour), now.Add(-time.Hour)))
		answers := whileBlocked(t, "closed", []*service{s},
			func() answer { return s.ask("closed", outside, key, "first", "Authorization", bearer) },
			func() answer { return s.ask("closed", body, key, "k") },
			func() answer { return s.ask("closed", outside, key, "k", "Authorization", bearer) },
			func() answer { return s.ask("closed", body, key, "k") },
		)
		for _, i := range []int{0, 2} {
			answers[i].expect(http.StatusAccepted)
		}
		for _, i := range []int{1, 3} {
			answers[i].expectProblem(http.StatusConflict, "closed", "")
		}
		if got := s.sql(`SELECT count(*)::text FROM requests q JOIN runs r ON r.id = q.run_id WHERE slug = 'closed'`); got[0] != "2" {
			t.Errorf("%s requests are in the line, want the organiser's two", got[0])
		}
	})
	t.Run("one after the other", func(t *testing.T) {
		s.addRun("open", nil)
		theirs := s.ask("open", outside, key, "k", "Authorization", bearer)
		theirs.expect(http.StatusAccepted)
		mine := s.ask("open", body, key, "k")
		mine.expect(http.StatusAccepted)
		if mine.registration().ID == theirs.registration().ID {
			t.Error("the organiser's registration was given to another client with the same key")
		}
		s.ask("open", body, key, "k").same(mine.registration())
		s.ask("open", outside, key, "k", "Authorization", bearer).same(theirs.registration())
	})
	t.Run("a longest key of an organiser is one, too", func(t *testing.T) {
		s.addRun("long", nil)
		long := strings.Repeat("x", 255)
		first := s.ask("long", body, key, long, "Authorization", bearer)
		first.expect(http.StatusAccepted)
		s.ask("long", body, key, long, "Authorization", bearer).same(first.registration())
	})
}

// TestKey_of_two_cancels: a person's and an organiser's cancel in one batch
// make one request, and each is judged by its own right.
func TestKey_of_two_cancels(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	r := s.register("go-1", ada, adaEmail)
	other := s.register("go-1", "Grace Hopper", "grace@example.org")
	s.settle()
	s.exec(`UPDATE runs SET starts_at = now() - interval '1 minute', ends_at = now() + interval '1 hour'`)
	answers := whileBlocked(t, "go-1", []*service{s},
		func() answer { return s.organise(http.MethodDelete, "/v1/runs/go-1/registrations/2", "") },
		func() answer { return s.cancel(r) },
	)
	answers[0].expect(http.StatusAccepted)
	answers[1].expectProblem(http.StatusConflict, "begun", "")
	answers = whileBlocked(t, "go-1", []*service{s},
		func() answer { return s.post("go-1", "Eve", "eve@example.org") },
		func() answer { return s.cancel(r) },
		func() answer { return s.organise(http.MethodDelete, "/v1/runs/go-1/registrations/1", "") },
	)
	answers[2].expect(http.StatusAccepted)
	if answers[1].status != http.StatusAccepted { // behind the organiser's it finds that one
		answers[1].expectProblem(http.StatusConflict, "begun", "")
	}
	s.settle()
	s.expectOutcomes("cancelled removed, cancelled removed", r, other)
	if got := s.sql(`SELECT count(*)::text FROM requests WHERE kind = 'cancel'`); got[0] != "2" {
		t.Errorf("%s cancels are in the line, want one for each registration", got[0])
	}
}

// TestKey_is_compared_with_what_was_sent: not with what an organiser or a later
// program made of it.
func TestKey_is_compared_with_what_was_sent(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	const sent = `{"name": "Ada Lovelace", "email": "ada@example.org"}`
	ask := func(body string, header ...string) answer {
		return s.ask("go-1", body, append(header, key, "k")...)
	}
	first := ask(sent)
	first.expect(http.StatusAccepted)
	r := first.registration()
	s.settle()
	s.organise(http.MethodPatch, "/v1/runs/go-1/registrations/1", `{"name": "Ada King", "email": "ada@example.org"}`).expect(http.StatusOK)

	ask(sent).same(r)
	ask(`{"email": " ada@example.org", "name": "Ada Lovelace ", "notify": false, "waitlist": true, "outside_window": false}`).same(r)
	for what, other := range map[string]string{
		"the corrected name":  `{"name": "Ada King", "email": "ada@example.org"}`,
		"a language":          `{"name": "Ada Lovelace", "email": "ada@example.org", "language": "en"}`,
		"notify":              `{"name": "Ada Lovelace", "email": "ada@example.org", "notify": true}`,
		"no waiting list":     `{"name": "Ada Lovelace", "email": "ada@example.org", "waitlist": false}`,
		"a place on the list": `{"name": "Ada Lovelace", "email": "ada@example.org", "max_waitlist_position": 1}`,
	} {
		t.Run(what, func(t *testing.T) {
			a := ask(other)
			a.t = t
			a.expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
		})
	}
	t.Run("outside_window", func(t *testing.T) {
		a := ask(sent, "Authorization", bearer)
		a.expect(http.StatusAccepted)
		ask(`{"name": "Ada Lovelace", "email": "ada@example.org", "outside_window": true}`, "Authorization", bearer).
			expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
		ask(sent, "Authorization", bearer).same(a.registration())
	})
	t.Run("a row without a digest compares as before", func(t *testing.T) {
		s.exec(`UPDATE requests SET digest = NULL`)
		ask(`{"name": "Ada King", "email": "ada@example.org"}`).same(r)
		ask(sent).expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
	})
	t.Run("so does one with a digest of a newer program", func(t *testing.T) {
		s.exec(`UPDATE requests SET digest = '\x02ff'`)
		ask(`{"name": "Ada King", "email": "ada@example.org"}`).same(r)
	})
}

// TestKey_that_one_body_could_not_use is not spoiled for the others of its
// batch: what is refused is refused for itself.
func TestKey_that_one_body_could_not_use(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	now := time.Now()
	s.addRun("closed", nil, window(now.Add(-2*time.Hour), now.Add(-time.Hour)))
	const inside, outside = `{"name": "Ada", "email": "a@example.org"}`, `{"name": "Ada", "email": "a@example.org", "outside_window": true}`
	release := s.block("closed")
	first := inTheBackground(func() answer { return s.ask("closed", outside, "Authorization", bearer) })
	s.blocked(1)
	var behind []func() []answer
	for i, body := range []string{inside, outside, inside, outside} { // in this order
		behind = append(behind, inTheBackground(func() answer { return s.ask("closed", body, key, "k", "Authorization", bearer) }))
		testwait.Until(t, "it waits", func() bool { return s.waiting() == i+1 })
	}
	release()
	first()[0].expect(http.StatusAccepted)
	var answers []answer
	for _, b := range behind {
		answers = append(answers, b()...)
	}
	for _, i := range []int{0, 2} {
		answers[i].expectProblem(http.StatusConflict, "closed", "")
	}
	answers[1].expect(http.StatusAccepted)
	answers[3].same(answers[1].registration())
}

// TestUnknownOutcome_with_a_key names no registration: an earlier request may
// have got another one.
func TestUnknownOutcome_with_a_key(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, database)
	s := start(t, place{database: database, through: proxy.URL(), commitTimeout: 5 * time.Second})
	s.addRun("go-1", nil)
	var r registration
	testwait.Until(t, "it is accepted", func() bool { // a slow machine needs more than one try
		a := s.post("go-1", ada, adaEmail, key, "k")
		if a.status == http.StatusAccepted {
			r = a.registration()
		}
		return a.status == http.StatusAccepted
	})

	proxy.Set(pgtest.BlackHole)
	a := s.post("go-1", ada, adaEmail, key, "k")
	p := a.expectProblem(http.StatusServiceUnavailable, "outcome_unknown", "")
	if a.header.Get("Location") != "" || !strings.Contains(p.Detail, "same Idempotency-Key") {
		t.Errorf("it names %q and says %q", a.header.Get("Location"), p.Detail)
	}
	proxy.Set(pgtest.None)
	testwait.Until(t, "it is back", func() bool {
		a := s.post("go-1", ada, adaEmail, key, "k")
		return a.status == http.StatusAccepted && a.registration().ID == r.ID
	})
	proxy.Set(pgtest.Refuse) // or what got stuck would take long to close
}

func TestUnknownOutcome_without_a_key(t *testing.T) {
	t.Parallel()
	var f forgetful
	s := start(t, place{intake: func(in httpapi.Intake) httpapi.Intake { f.Intake = in; return &f }})
	s.addRun("go-1", nil)
	f.on.Store(true)
	a := s.post("go-1", ada, adaEmail)
	a.expectProblem(http.StatusServiceUnavailable, "outcome_unknown", "")
	s.get(a.header.Get("Location")).expect(http.StatusOK)
}

// TestDigest is of what was said, and of its key.
func TestDigest(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	s.register("go-1", ada, adaEmail, key, "k")
	s.register("go-1", ada, adaEmail)
	got := s.sql(`SELECT coalesce(encode(digest, 'hex'), 'none') FROM requests ORDER BY ticket`)
	secret, err := s.store.DigestKey(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	submission, err := enroll.NewRegister(enroll.RegisterInput{Run: "go-1", Name: ada, Email: adaEmail, IdempotencyKey: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", string(secret.Digest(submission))); got[0] != want || got[1] != "none" {
		t.Errorf("got %v, want %s and none", got, want)
	}
	if fmt.Sprintf("%x", string(enroll.DigestKey("another").Digest(submission))) == got[0] {
		t.Error("the key does not matter")
	}
}
