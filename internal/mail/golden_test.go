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

var update = flag.Bool("update", false, "write the golden files anew")

// readable returns a message in a form for people: decoded, and without what
// differs each time.
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
		path := fmt.Sprintf("testdata/%s.%s.golden", m.Kind, m.Language)
		got := receive(t, m).readable(t)
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
			t.Errorf("%s differs (-update writes it anew): got\n%s", path, got)
		}
	})
}
