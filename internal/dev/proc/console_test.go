package proc

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
)

func TestLineWriter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		writes []string
		want   string
	}{
		{"a line", []string{"hello\n"}, "api    | hello\n"},
		{"several lines in one write", []string{"a\nb\n\nc\n"}, "api    | a\napi    | b\napi    | \napi    | c\n"},
		{"a line in several writes", []string{"he", "l", "lo\nwor"}, "api    | hello\napi    | wor\n"},
		{"a line end of Windows", []string{"a\r\n"}, "api    | a\n"},
		{"nothing", []string{"", ""}, ""},
		{"the longest line", []string{strings.Repeat("x", maxLine) + "\n"}, "api    | " + strings.Repeat("x", maxLine) + "\n"},
		{"a line that is too long", []string{strings.Repeat("x", maxLine-1), "yz", "z\nnext\n"}, "api    | " + strings.Repeat("x", maxLine-1) + "y … (2 bytes cut)\napi    | next\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := new(devtest.Output)
			w := NewConsole(out, devtest.NoEnv).Lines("api")
			for _, s := range test.writes {
				if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
					t.Fatalf("Write(%d bytes) = %d, %v", len(s), n, err)
				}
			}
			w.Flush()
			if got := out.String(); got != test.want {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestConsole_Lines_of_several_writers_do_not_mix(t *testing.T) {
	t.Parallel()
	out := new(devtest.Output)
	c := NewConsole(out, devtest.NoEnv)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			w := c.Lines(fmt.Sprint("w", i))
			for range 100 {
				fmt.Fprintf(w, "from %d", i)
				fmt.Fprintf(w, " to all\n")
			}
		})
	}
	all.Wait()
	for line := range strings.Lines(out.String()) {
		var a, b int
		if _, err := fmt.Sscanf(line, "w%d | from %d to all", &a, &b); err != nil || a != b {
			t.Fatalf("line %q: %v", line, err)
		}
	}
}

func TestConsole_is_colourful_only_when_asked(t *testing.T) {
	t.Parallel()
	out := new(devtest.Output)
	c := NewConsole(out, devtest.NoEnv)
	if c.colour {
		t.Error("a buffer is no terminal")
	}
	c.colour = true
	fmt.Fprintln(c.Lines("worker"), "hello")
	if want := "\x1b[35mworker |\x1b[0m hello\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
