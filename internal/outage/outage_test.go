package outage_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/outage"
)

func TestLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := outage.New(slog.New(slog.NewTextHandler(&out, nil)), slog.LevelWarn, "the well is dry", "the well has water again")
	l.Recovered() // nothing to say
	for range 1000 {
		l.Failed(errors.New("no water"), "run", "go-1")
	}
	l.Recovered()
	l.Recovered()
	l.Failed(errors.New("no water"))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %d lines:\n%s", len(lines), out.String())
	}
	for i, want := range []string{`level=WARN msg="the well is dry" error="no water" failures=1 run=go-1`, `level=INFO msg="the well has water again" failures=1000`, `msg="the well is dry" error="no water" failures=1`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %q: %s", i, want, lines[i])
		}
	}
}
