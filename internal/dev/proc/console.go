package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
)

const (
	prefixWidth = 6       // "worker", the longest name
	maxLine     = 8 << 10 // bytes of a line that are shown; the rest is cut
)

// colours of the prefixes; other names are not coloured.
var colours = map[string]string{"api": "36", "worker": "35", "dev": "32", "apt": "33"}

// Console is the one place that this program and its children write to. Their
// lines never mix.
type Console struct {
	mu     sync.Mutex
	w      io.Writer
	colour bool
}

// NewConsole returns a console on w, with colours if w is a terminal and NO_COLOR
// (no-color.org) is not set.
func NewConsole(w io.Writer, getenv func(string) string) *Console {
	return &Console{w: w, colour: isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Printf writes a line in the name of the tool.
func (c *Console) Printf(format string, args ...any) {
	w := c.Lines("dev")
	fmt.Fprintf(w, format+"\n", args...)
}

// Print writes text as it is, in one piece.
func (c *Console) Print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.w, text)
}

// Lines returns a writer that puts the name in front of every line, as in
// "api    | listening".
func (c *Console) Lines(name string) *LineWriter {
	prefix := fmt.Sprintf("%-*s | ", prefixWidth, name)
	if code := colours[name]; c.colour && code != "" {
		prefix = fmt.Sprintf("\x1b[%sm%-*s |\x1b[0m ", code, prefixWidth, name)
	}
	return &LineWriter{console: c, prefix: prefix}
}

// LineWriter collects what is written to it into lines. Flush it when the last
// line may lack its end.
type LineWriter struct {
	console *Console
	prefix  string

	mu   sync.Mutex
	line []byte // the unfinished line, maxLine bytes at most
	cut  int    // bytes of that line that were dropped
}

// Write never fails: a child must not die because its log cannot be shown.
func (w *LineWriter) Write(p []byte) (int, error) {
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

// Flush writes the unfinished line, if there is one.
func (w *LineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		w.emit()
	}
}

func (w *LineWriter) emit() {
	line := append([]byte(w.prefix), bytes.TrimSuffix(w.line, []byte{'\r'})...)
	if w.cut > 0 {
		line = fmt.Appendf(line, " … (%d bytes cut)", w.cut)
	}
	w.console.Print(string(append(line, '\n')))
	w.line, w.cut = w.line[:0], 0
}
