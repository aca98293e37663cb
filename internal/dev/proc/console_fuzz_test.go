package proc

import (
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
)

// FuzzLineWriter: however a child cuts its output into writes, the lines are the
// same, each behind its prefix and none too long.
func FuzzLineWriter(f *testing.F) {
	for _, seed := range []string{"", "a\nb\n", "a\r\n\r\n", "no end", strings.Repeat("x", maxLine+2) + "\ny", "\x1b[31m\n", "\xff\n", "\n\n"} {
		f.Add([]byte(seed), uint16(1))
		f.Add([]byte(seed), uint16(7))
	}
	f.Fuzz(func(t *testing.T, said []byte, size uint16) {
		write := func(size int) string {
			out := new(devtest.Output)
			w := NewConsole(out, devtest.NoEnv).Lines("api")
			for rest := said; len(rest) > 0; {
				n := min(max(size, 1), len(rest))
				if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
					t.Fatalf("wrote %d of %d bytes, %v", wrote, n, err)
				}
				rest = rest[n:]
			}
			w.Flush()
			return out.String()
		}
		whole := write(len(said))
		if pieces := write(int(size)); pieces != whole {
			t.Errorf("%q became %q, and in pieces %q", said, whole, pieces)
		}
		count := strings.Count(string(said), "\n")
		if len(said) > 0 && said[len(said)-1] != '\n' {
			count++
		}
		if got := strings.Count(whole, "\n"); got != count {
			t.Errorf("%q became %d lines, want %d", said, got, count)
		}
		for line := range strings.Lines(whole) {
			if !strings.HasPrefix(line, "api    | ") || len(line) > len("api    | ")+maxLine+len(" … (65536 bytes cut)\n") {
				t.Errorf("there is the line %q", line)
			}
		}
	})
}
