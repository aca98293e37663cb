package postgres_test

import (
	"slices"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// named returns the submission of an address under a name.
func named(t *testing.T, name, email string) enroll.Submission {
	t.Helper()
	sub, err := enroll.NewRegister(enroll.RegisterInput{Run: "a", Name: name, Email: email})
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// TestSeated: mails and calendars go by whether a registration ever had a seat.
// Of six people in a run of two seats, 1 gives the seat up, 3 is promoted and
// gives it up, 4 is promoted, 5 leaves the waiting list, and 6 stays on it until
// the run is called off. 2 keeps the seat until then.
func TestSeated(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 9)
	o.do(ask(1), ask(2), ask(3), ask(4), ask(5), ask(6))
	o.settleAll()
	o.do(cancel(1), cancel(5))
	o.settleAll()
	o.do(cancel(3))
	o.settleAll()
	requireSeated := func(want ...int64) {
		t.Helper()
		var seated []int64
		for ticket := int64(1); ticket <= 6; ticket++ {
			r, err := o.RegistrationAt(t.Context(), "a", ticket)
			if err != nil {
				t.Fatal(err)
			}
			was, err := o.WasSeated(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if was {
				seated = append(seated, ticket)
			}
		}
		if !slices.Equal(seated, want) {
			t.Errorf("%v have or had a seat, want %v", seated, want)
		}
	}
	requireSeated(1, 2, 3, 4)
	// Nothing of the mails is lost by what happens to them.
	o.exec(`UPDATE mails SET state = 'skipped', ended_at = now() WHERE kind IN ('confirmed', 'promoted', 'waitlisted')`)
	o.do(enroll.NewCallOff("a"))
	o.settleAll()
	requireSeated(1, 2, 3, 4)

	seen := make(map[int64]bool)
	for range 6 {
		for _, d := range o.due(6 - len(seen)) {
			m := o.mustClaim(d)
			e := m.About[0]
			if seen[e.Ticket] = true; e.Seated != (e.Ticket <= 4) {
				t.Errorf("the mail %s about ticket %d says that it had a seat: %t", m.Kind, e.Ticket, e.Seated)
			}
		}
		if len(seen) == 6 {
			return
		}
	}
	t.Errorf("there were mails about %v", seen)
}

// TestAskedAgain: the mail to an address that has a seat names for whom it was
// asked again, and whom it leaves out of that.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	o := newListOffice(t, 9)
	claimAgain := func() []enroll.Name {
		t.Helper()
		o.exec(`UPDATE mails SET state = 'skipped', ended_at = now() WHERE kind <> 'already_registered'`)
		m := o.mustClaim(o.due(1)[0])
		if m.Kind != enroll.MailAlreadyRegistered || m.About[0].Name != "Ada" || m.About[0].Ticket != 1 {
			t.Errorf("got %+v", m)
		}
		o.end(m, enroll.MailAttempt{State: enroll.MailSent})
		return m.About[0].AskedFor
	}
	o.do(named(t, "Ada", "ada@example.org"), named(t, "Dave", "dave@example.org"), named(t, "Dave", "DAVE@example.org"))
	o.settleAll()
	o.exec(`UPDATE mails SET state = 'skipped', ended_at = now()`)

	o.do(named(t, "Ada", "ada@example.org"))
	o.settleAll()
	if got := claimAgain(); len(got) != 0 {
		t.Errorf("it was asked again for %q", got)
	}
	o.exec(`UPDATE mails SET due_at = due_at - interval '11 minutes'`)
	o.exec(`UPDATE requests SET accepted_at = accepted_at - interval '11 minutes', decided_at = decided_at - interval '11 minutes'`)
	o.do(named(t, "Charles", "Ada@example.org"), named(t, "Bob", "ada@Example.org"), named(t, "Charles", "ada@example.org"), named(t, "Ada", "ada@example.org"))
	o.settleAll()
	if got, want := claimAgain(), []enroll.Name{"Charles", "Bob"}; !slices.Equal(got, want) {
		t.Errorf("it was asked again for %q, want %q", got, want)
	}
	// Those were told; now it is somebody else.
	o.exec(`UPDATE mails SET due_at = due_at - interval '11 minutes'`)
	o.exec(`UPDATE requests SET accepted_at = accepted_at - interval '11 minutes', decided_at = decided_at - interval '11 minutes'`)
	o.do(named(t, "Eve", "ada@example.org"))
	o.settleAll()
	if got, want := claimAgain(), []enroll.Name{"Eve"}; !slices.Equal(got, want) {
		t.Errorf("it was asked again for %q, want %q", got, want)
	}
}
