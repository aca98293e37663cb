package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const key = "Idempotency-Key"

// same asserts that an answer is the registration that was accepted first.
func (a answer) same(first registration) {
	a.t.Helper()
	a.expect(http.StatusAccepted)
	r := a.registration()
	if r.ID != first.ID || r.Ticket != first.Ticket || !r.AcceptedAt.Equal(first.AcceptedAt) || a.header.Get("Location") != first.Links.Self {
		a.t.Errorf("got id %s, ticket %d, accepted at %v at %s, want %s, %d, %v at %s",
			r.ID, r.Ticket, r.AcceptedAt, a.header.Get("Location"), first.ID, first.Ticket, first.AcceptedAt, first.Links.Self)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", seats(5))
	s.addRun("go-2", seats(5))
	first := s.register("go-1", "Ada Lovelace", "ada@example.org", key, "k-1")

	t.Run("the same key and body is the same registration", func(t *testing.T) {
		for range 3 {
			s.post("go-1", "Ada Lovelace", "ada@example.org", key, "k-1").same(first)
		}
		// What counts is what was said, not how the JSON was written.
		again := s.asking("go-1", "", "", key, "k-1")
		again.body = "\n{ \"email\":\"ada\\u0040example.org\", \"name\" : \" Ada Lovelace\\t\" }\n"
		s.do(again).same(first)
	})
	t.Run("quoted and bare are the same key", func(t *testing.T) {
		s.post("go-1", "Ada Lovelace", "ada@example.org", key, `"k-1"`).same(first)
		odd := s.register("go-1", "Grace Hopper", "grace@example.org", key, `a"b\c`)
		s.post("go-1", "Grace Hopper", "grace@example.org", key, `"a\"b\\c"`).same(odd)
	})
	t.Run("another body is refused", func(t *testing.T) {
		for _, other := range [][2]string{
			{"Ada Lovelace", "ada@example.com"}, {"Ada Lovelace", "Ada@example.org"}, {"ada lovelace", "ada@example.org"}, {"Eve", "eve@example.org"},
		} {
			a := s.post("go-1", other[0], other[1], key, "k-1")
			a.expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
			if answer := fmt.Sprint(a.header) + string(a.body); strings.Contains(answer, first.ID.String()) {
				t.Errorf("the refusal reveals the registration: %s", answer)
			}
		}
	})
	t.Run("another run has keys of its own", func(t *testing.T) {
		other := s.register("go-2", "Eve", "eve@example.org", key, "k-1")
		if other.Run != "go-2" || other.Ticket != 1 || other.ID == first.ID {
			t.Errorf("got %+v", other)
		}
		s.post("go-2", "Eve", "eve@example.org", key, "k-1").same(other)
		s.post("go-1", "Ada Lovelace", "ada@example.org", key, "k-1").same(first)
	})
	t.Run("keys differ in case", func(t *testing.T) {
		if r := s.register("go-1", "Ada Lovelace", "ada@example.org", key, "K-1"); r.ID == first.ID {
			t.Error("K-1 is k-1")
		}
	})
	t.Run("without a key every request is one", func(t *testing.T) {
		a, b := s.register("go-1", "Ada Lovelace", "ada@example.org"), s.register("go-1", "Ada Lovelace", "ada@example.org")
		if a.ID == b.ID || b.Ticket != a.Ticket+1 {
			t.Errorf("got %+v and %+v", a, b)
		}
	})
	t.Run("255 characters are a key", func(t *testing.T) {
		long := strings.Repeat("~", 255)
		r := s.register("go-1", "Ada Lovelace", "ada@example.org", key, long)
		s.post("go-1", "Ada Lovelace", "ada@example.org", key, `"`+long+`"`).same(r)
	})
	t.Run("what cannot be a key is refused by name", func(t *testing.T) {
		for code, values := range map[string][]string{
			"too_long":            {strings.Repeat("x", 256), `"` + strings.Repeat("x", 256) + `"`, strings.Repeat("x", 4000)},
			"required":            {"", " ", "\t", `""`},
			"forbidden_character": {"a\tb", "schlüssel", "\"a\tb\"", "\xff", "a\u200bb"},
		} {
			for _, value := range values {
				c := s.asking("go-1", "Ada Lovelace", "ada@example.org", key, value)
				c.bad = true
				if p := s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", key); len(p.Errors) != 1 || p.Errors[0].Code != code {
					t.Errorf("%q: got %+v, want %s", value, p.Errors, code)
				}
			}
		}
		c := s.asking("go-1", "Ada Lovelace", "ada@example.org", key, "k-1", key, "k-1")
		c.bad = true
		s.do(c).expectProblem(http.StatusUnprocessableEntity, "invalid", key)
	})
	t.Run("with a control character it is not even HTTP", func(t *testing.T) {
		for _, value := range []string{"a\x01b", "a\x00b", "a\x7fb"} {
			a := s.raw(t, fmt.Sprintf("POST /v1/runs/go-1/registrations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
				"Idempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", value, len(good), good), false)
			if a.StatusCode != http.StatusBadRequest {
				t.Errorf("%q: got status %d", value, a.StatusCode)
			}
		}
	})
	t.Run("decided, it is shown as it stands", func(t *testing.T) {
		s.settle()
		a := s.post("go-1", "Ada Lovelace", "ada@example.org", key, "k-1")
		a.same(first)
		if got := a.registration(); got.outcome() != "confirmed" || a.header.Get("Retry-After") != "" {
			t.Errorf("got %s", a.body)
		}
	})
	t.Run("it holds after the window has closed", func(t *testing.T) {
		s.exec(`UPDATE runs SET closes_at = now()`)
		s.post("go-1", "Ada Lovelace", "ada@example.org", key, "k-1").same(first)
		s.post("go-1", "Eve", "eve@example.org", key, "k-1").expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
		s.post("go-1", "Ada Lovelace", "ada@example.org", key, "k-2").expectProblem(http.StatusConflict, "closed", "")
		s.post("go-1", "Ada Lovelace", "ada@example.org").expectProblem(http.StatusConflict, "closed", "")
	})
}

func TestIdempotencyKey_of_many_at_once(t *testing.T) {
	t.Parallel()
	a := start(t, place{})
	b := start(t, place{database: a.place.database})
	for _, test := range []struct {
		name string
		on   []*service
	}{
		{"in one batch", []*service{a}},
		{"on two instances", []*service{a, b}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := strings.ReplaceAll(test.name, " ", "-")
			a.addRun(run, nil)
			const people, times = 5, 8
			var calls []func() answer
			for i := range people * times {
				s, person := test.on[i%len(test.on)], i%people
				calls = append(calls, func() answer {
					return s.post(run, "A Person", fmt.Sprintf("p%d@example.org", person), key, fmt.Sprintf("k-%d", person))
				})
			}
			for i := range 4 {
				s := test.on[i%len(test.on)]
				calls = append(calls, func() answer { return s.post(run, "A Person", "nokey@example.org") })
			}
			answers := whileBlocked(t, run, test.on, calls...)
			for i, each := range answers[:people*times] {
				each.expect(http.StatusAccepted)
				// Each instance names itself in links.self.
				first, got := answers[i%people].registration(), each.registration()
				if got.ID != first.ID || got.Ticket != first.Ticket || !got.AcceptedAt.Equal(first.AcceptedAt) {
					t.Errorf("one key got %+v and %+v", first, got)
				}
			}
			if got := a.sql(`SELECT last_ticket::text FROM lines JOIN runs ON id = run_id WHERE slug = $1`, run); got[0] != fmt.Sprint(people+4) {
				t.Errorf("%s tickets were issued, want %d", got[0], people+4)
			}
		})
	}
	t.Run("with different bodies one of them wins", func(t *testing.T) {
		a.addRun("bodies", nil)
		var calls []func() answer
		for i := range 20 {
			calls = append(calls, func() answer { return a.post("bodies", "A Person", fmt.Sprintf("p%d@example.org", i%2), key, "k") })
		}
		won := map[int]int{}
		for _, each := range whileBlocked(t, "bodies", []*service{a}, calls...) {
			if won[each.status]++; each.status != http.StatusAccepted {
				each.expectProblem(http.StatusUnprocessableEntity, "key_reused", "")
			}
		}
		if won[http.StatusAccepted] != 10 || won[http.StatusUnprocessableEntity] != 10 {
			t.Errorf("statuses: %v", won)
		}
		if got := a.sql(`SELECT email FROM requests JOIN runs r ON r.id = run_id WHERE slug = 'bodies'`); len(got) != 1 {
			t.Errorf("in the line stand %v", got)
		}
	})
}
