package mail_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// asks lists words, in lower case, with which mails ask for or promise
// something, and when they may.
var asks = []struct {
	words string
	may   func(l enroll.Life, s enroll.Status) bool
}{
	{"please cancel", enroll.Life.MayGiveUp},
	{"please give up", enroll.Life.MayGiveUp},
	{"sagen sie bitte über den link unten ab", enroll.Life.MayGiveUp},
	{"über den link unten", enroll.Life.MayGiveUp},
	{"so that the people behind you move up", listOpen},
	{"damit andere nachrücken", listOpen},
	{"please register", mayRegister},
	{"bitte erneut an", mayRegister},
	{"if a seat becomes free", listOpen},
	{"wird ein platz frei", listOpen},
	{"on the waiting list gets the seat", listOpen},
	{"nachrücken kann.", listOpen},
}

func mayRegister(l enroll.Life, _ enroll.Status) bool { return l.MayRegister() }

func listOpen(l enroll.Life, _ enroll.Status) bool { return !l.ListEnded }

// TestCompose_asks_for_nothing_that_is_refused goes through a run's life. The
// API must accept whatever a mail asks its reader to do at that instant.
func TestCompose_asks_for_nothing_that_is_refused(t *testing.T) {
	t.Parallel()
	now := mailOf(t, enroll.MailConfirmed, enroll.English).Now
	hours := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	for name, change := range map[string]func(*enroll.Run){
		"open":           func(*enroll.Run) {},
		"closed":         func(r *enroll.Run) { r.ClosesAt = hours(0) },
		"list ended":     func(r *enroll.Run) { r.PromoteUntil = hours(0) },
		"begun":          func(r *enroll.Run) { r.StartsAt = hours(0) },
		"begun, closed":  func(r *enroll.Run) { r.ClosesAt, r.StartsAt = hours(-1), hours(0) },
		"begun, list on": func(r *enroll.Run) { r.StartsAt, r.PromoteUntil = hours(0), hours(1) },
		"over":           func(r *enroll.Run) { r.StartsAt, r.EndsAt = hours(-1), hours(0) },
		"called off":     func(r *enroll.Run) { r.CalledOff = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachMail(t, func(t *testing.T, m enroll.Mail) {
				for i := range m.About {
					change(&m.About[i].For)
				}
				life := m.About[0].For.LifeAt(m.Now)
				text := strings.ToLower(receive(t, m).plain)
				for _, a := range asks {
					if strings.Contains(text, a.words) && !a.may(life, m.About[0].Status) {
						t.Errorf("%+v: it says %q:\n%s", life, a.words, text)
					}
				}
			})
		})
	}
	t.Run("every expected text occurs in a mail", func(t *testing.T) {
		t.Parallel()
		var all strings.Builder
		for _, kind := range enroll.MailKinds() {
			for _, language := range enroll.Languages {
				all.WriteString(strings.ToLower(receive(t, mailOf(t, kind, language)).plain))
			}
		}
		for _, a := range asks {
			if !strings.Contains(all.String(), a.words) {
				t.Errorf("no mail says %q", a.words)
			}
		}
	})
}
