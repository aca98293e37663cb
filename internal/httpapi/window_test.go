package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/testwait"
)

func window(opens, closes time.Time) func(*enroll.Run) {
	return func(r *enroll.Run) { r.OpensAt, r.ClosesAt = opens, closes }
}

func TestWindow(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	now := time.Now().Truncate(time.Microsecond)
	hour := time.Hour

	t.Run("before it opens nobody is accepted", func(t *testing.T) {
		s.addRun("early", seats(1), window(now.Add(hour), now.Add(2*hour)))
		p := s.post("early", "Ada Lovelace", "ada@example.org").expectProblem(http.StatusConflict, "not_open", "")
		if !p.OpensAt.Equal(now.Add(hour)) || !p.ClosesAt.Equal(now.Add(2*hour)) || time.Since(p.Now).Abs() > time.Minute {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("once it has closed nobody is accepted", func(t *testing.T) {
		s.addRun("late", seats(1), window(now.Add(-2*hour), now)) // exclusive: now is too late
		p := s.post("late", "Ada Lovelace", "ada@example.org").expectProblem(http.StatusConflict, "closed", "")
		if !p.OpensAt.Equal(now.Add(-2*hour)) || !p.ClosesAt.Equal(now) || p.Now.Before(now) {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("no ticket is issued outside it", func(t *testing.T) {
		if got := s.sql(`SELECT sum(last_ticket)::text FROM lines`); got[0] != "0" {
			t.Errorf("%s tickets were issued", got[0])
		}
	})
	t.Run("it opens by itself", func(t *testing.T) {
		opens := time.Now().Add(300 * time.Millisecond)
		s.addRun("soon", seats(1), window(opens, opens.Add(hour)))
		refused := 0
		var a answer
		testwait.Until(t, "it is open", func() bool {
			if a = s.post("soon", "Ada Lovelace", "ada@example.org"); a.status == http.StatusAccepted {
				return true
			}
			refused++
			a.expectProblem(http.StatusConflict, "not_open", "")
			return false
		})
		if r := a.registration(); r.AcceptedAt.Before(opens.Truncate(time.Microsecond)) || r.Ticket != 1 {
			t.Errorf("after %d refusals it opens at %v and accepts ticket %d at %v", refused, opens, r.Ticket, r.AcceptedAt)
		}
	})
	t.Run("it closes by itself", func(t *testing.T) {
		closes := time.Now().Add(300 * time.Millisecond).Truncate(time.Microsecond)
		s.addRun("closing", nil, window(closes.Add(-hour), closes))
		var last time.Time
		testwait.Until(t, "it is closed", func() bool {
			a := s.post("closing", "Ada Lovelace", "ada@example.org")
			if a.status == http.StatusAccepted {
				last = a.registration().AcceptedAt
				return false
			}
			p := a.expectProblem(http.StatusConflict, "closed", "")
			return !p.Now.Before(closes)
		})
		if !last.Before(closes) {
			t.Errorf("it closes at %v and accepted a person at %v", closes, last)
		}
	})
	t.Run("who was accepted in time is decided whatever happens to it", func(t *testing.T) {
		for slug, change := range map[string]string{
			"moved-back":    `UPDATE runs SET closes_at = now() - interval '1 minute' WHERE slug = $1`,
			"moved-forward": `UPDATE runs SET opens_at = now() + interval '1 minute' WHERE slug = $1`,
		} {
			s.addRun(slug, seats(1))
			r := s.register(slug, "Ada Lovelace", "ada@example.org")
			s.exec(change, slug)
			s.post(slug, "Grace Hopper", "grace@example.org").expect(http.StatusConflict)
			s.settle()
			if got := s.decided(r).outcome(); got != "confirmed" {
				t.Errorf("%s: it is %s", slug, got)
			}
		}
	})
}
