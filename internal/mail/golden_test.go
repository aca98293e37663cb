package mail_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// readable returns a message in a readable form: decoded, and without the parts
// that differ each time.
func (r received) readable(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		if name != "Content-Type" { // has the boundary in it; see the structure
			fmt.Fprintf(&out, "%s: %s\n", name, r.decoded(t, name))
		}
	}
	fmt.Fprintf(&out, "\n==== %s\n", r.structure)
	fmt.Fprintf(&out, "\n==== text\n%s\n==== HTML\n%s", r.plain, r.html)
	if r.calendar != "" {
		fmt.Fprintf(&out, "\n==== %s\n%s", r.attachment, strings.ReplaceAll(r.calendar, "\r\n", "\n"))
	}
	return out.String()
}

func TestCompose_writes_the_golden_mails(t *testing.T) {
	t.Parallel()
	eachMail(t, func(t *testing.T, m enroll.Mail) {
		requireGolden(t, string(m.Kind), m)
	})
	// Some kinds say different things depending on the registration.
	for name, v := range map[string]struct {
		kind   enroll.MailKind
		change func(e *enroll.Enrolment)
	}{
		"already_registered_waits": {enroll.MailAlreadyRegistered, func(e *enroll.Enrolment) { e.Status, e.WaitlistPosition = enroll.Waitlisted, 3 }},
		"already_registered_other": {enroll.MailAlreadyRegistered, func(e *enroll.Enrolment) { e.AskedFor = []enroll.Name{"Charles Babbage"} }},
		"already_registered_other_waits": {enroll.MailAlreadyRegistered, func(e *enroll.Enrolment) {
			e.Status, e.WaitlistPosition, e.Seated, e.AskedFor = enroll.Waitlisted, 3, false, []enroll.Name{"Charles Babbage", "visit evil.example"}
		}},
		"called_off_refused":        {enroll.MailCalledOff, func(e *enroll.Enrolment) { e.Status, e.Seated, e.LastTold = enroll.Rejected, false, enroll.LastTold{} }},
		"called_off_waiting":        {enroll.MailCalledOff, func(e *enroll.Enrolment) { e.Seated, e.LastTold = false, enroll.LastTold{} }},
		"cancelled_untold":          {enroll.MailCancelled, func(e *enroll.Enrolment) { e.LastTold = enroll.LastTold{} }},
		"cancelled_waiting":         {enroll.MailCancelled, func(e *enroll.Enrolment) { e.Seated, e.LastTold = false, enroll.LastTold{} }},
		"cancelled_waiting_removed": {enroll.MailCancelled, func(e *enroll.Enrolment) { e.Seated, e.LastTold, e.Reason = false, enroll.LastTold{}, enroll.Removed }},
		"cancelled_closed":          {enroll.MailCancelled, func(e *enroll.Enrolment) { e.For.ClosesAt = e.For.OpensAt.Add(1) }},
		"promoted_begun":            {enroll.MailPromoted, func(e *enroll.Enrolment) { e.For.StartsAt = e.For.OpensAt }},
		"waitlisted_list_ended":     {enroll.MailWaitlisted, func(e *enroll.Enrolment) { e.For.WaitlistEnded = true }},
		"cancelled_removed":         {enroll.MailCancelled, func(e *enroll.Enrolment) { e.Reason = enroll.Removed }},
	} {
		for _, language := range enroll.Languages {
			t.Run(name+" "+string(language), func(t *testing.T) {
				t.Parallel()
				m := mailOf(t, v.kind, language)
				v.change(&m.About[0])
				requireGolden(t, name, m)
			})
		}
	}
}

// requireGolden compares a mail with the golden file of the name.
func requireGolden(t *testing.T, name string, m enroll.Mail) {
	t.Helper()
	compareGolden(t, fmt.Sprintf("testdata/%s.%s.golden", name, m.Language), receive(t, m).readable(t))
}

// compareGolden compares a text with a golden file.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it): got\n%s", path, got)
	}
}
