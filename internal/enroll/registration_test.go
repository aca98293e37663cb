package enroll_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestPosition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		status          enroll.Status
		ticket, settled int64
		want            int64
	}{
		{"the first of a new line is next", enroll.Queued, 1, 0, 1},
		{"the ticket after the last settled one is next", enroll.Queued, 8, 7, 1},
		{"others are before", enroll.Queued, 12, 7, 5},
		{"a queued one read late is still next", enroll.Queued, 7, 7, 1},
		{"a queued one read very late is still next", enroll.Queued, 7, 900, 1},
		{"the end of a long line", enroll.Queued, math.MaxInt64, 0, math.MaxInt64},
		{"a confirmed registration has no position", enroll.Confirmed, 12, 7, 0},
		{"a waitlisted registration has no position", enroll.Waitlisted, 12, 7, 0},
		{"a cancelled registration has no position", enroll.Cancelled, 12, 7, 0},
		{"a settled request of another kind has no position", enroll.Done, 12, 12, 0},
		{"a rejected registration has no position", enroll.Rejected, 7, 7, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := enroll.Registration{Status: test.status, Ticket: test.ticket, SettledTicket: test.settled}
			if got := r.Position(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestFinal(t *testing.T) {
	t.Parallel()
	all := constants(t, "Status")
	for _, waits := range []enroll.Status{enroll.Queued, enroll.Waitlisted} {
		if waits.Final() {
			t.Errorf("%s is final", waits)
		}
		if !slices.Contains(all, string(waits)) {
			t.Errorf("%s is not among %q", waits, all)
		}
	}
	final := 0
	for _, status := range all {
		if enroll.Status(status).Final() {
			final++
		}
	}
	if final != len(all)-2 || len(all) != 7 {
		t.Errorf("%d of %q are final, want all but two", final, all)
	}
}

// constants returns the values of all constants of the type, so that a new one
// cannot be forgotten here.
func constants(t *testing.T, typ string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "registration.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typ {
			for _, value := range spec.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
		}
		return false
	})
	return all
}

func TestReasons(t *testing.T) {
	t.Parallel()
	all, seen := constants(t, "Reason"), map[string]enroll.Reason{}
	for _, known := range []enroll.Reason{
		enroll.Full, enroll.AlreadyRegistered, enroll.WaitlistTooLong, enroll.RunCalledOff, enroll.Removed, enroll.NoEffect,
	} {
		if !slices.Contains(all, string(known)) {
			t.Errorf("%s is not among %q", known, all)
		}
	}
	for _, text := range all {
		reason := enroll.Reason(text)
		message := reason.Message()
		if !strings.HasSuffix(message, ".") {
			t.Errorf("%s is told as %q", reason, message)
		}
		if other, ok := seen[message]; ok {
			t.Errorf("%s and %s have the same message", reason, other)
		}
		seen[message] = reason
	}
	for _, reason := range []enroll.Reason{"", "no such reason"} {
		if got := reason.Message(); got != "" {
			t.Errorf("%q is told as %q", reason, got)
		}
	}
}
