package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
)

const (
	prefixWidth = 6       // "worker", the longest name
	maxLine     = 8 << 10 // bytes of one line that are shown; the rest is cut
)

// colours of the prefixes; a name without one is not coloured.
var colours = map[string]string{"api": "36", "worker": "35", "dev": "32", "apt": "33"}

// console is the one place this program and its children write to. Lines never mix.
type console struct {
	mu     sync.Mutex
	w      io.Writer
	colour bool
}

// newConsole returns a console on w, with colours if w is a terminal and NO_COLOR (no-color.org) is not set.
func newConsole(w io.Writer, getenv func(string) string) *console {
	return &console{w: w, colour: isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printf says something in the name of this program.
func (c *console) printf(format string, args ...any) {
	w := c.lines("dev")
	fmt.Fprintf(w, format+"\n", args...)
}

// block writes text as it is, in one piece.
func (c *console) block(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.w, text)
}

// lines returns a writer that puts name in front of every line, as in "api    | listening".
func (c *console) lines(name string) *lineWriter {
	prefix := fmt.Sprintf("%-*s | ", prefixWidth, name)
	if code := colours[name]; c.colour && code != "" {
		prefix = fmt.Sprintf("\x1b[%sm%-*s |\x1b[0m ", code, prefixWidth, name)
	}
	return &lineWriter{console: c, prefix: prefix}
}

// lineWriter gathers what is written to it into lines. It must be flushed when the last line may lack its end.
type lineWriter struct {
	console *console
	prefix  string

	mu   sync.Mutex
	line []byte // of the line begun, maxLine bytes at most
	cut  int    // bytes of it that were dropped
}

// Write never fails: a child must not die because nobody reads its log.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		piece, rest, ended := bytes.Cut(p, []byte{'\n'})
		room := min(len(piece), maxLine-len(w.line))
		w.line = append(w.line, piece[:room]...)
		w.cut += len(piece) - room
		if ended {
			w.emit()
		}
		p = rest
	}
	return n, nil
}

// flush writes the line begun, if any.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		w.emit()
	}
}

func (w *lineWriter) emit() {
	line := append([]byte(w.prefix), bytes.TrimSuffix(w.line, []byte{'\r'})...)
	if w.cut > 0 {
		line = fmt.Appendf(line, " … (%d bytes cut)", w.cut)
	}
	w.console.block(string(append(line, '\n')))
	w.line, w.cut = w.line[:0], 0
}
