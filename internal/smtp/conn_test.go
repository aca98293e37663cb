package smtp

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// timeless is a connection whose deadline never fires, as in a process that was
// paused and whose timers have not run yet.
type timeless struct{ net.Conn }

func (timeless) SetDeadline(time.Time) error { return nil }

func (timeless) Write(b []byte) (int, error) { return len(b), nil }

func (timeless) Read(b []byte) (int, error) { return copy(b, "250 taken\r\n"), nil }

func TestConn(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	for name, ctx := range map[string]context.Context{"ended": ended, "late": lateTimer{t.Context()}} {
		c := &conn{Conn: timeless{}}
		c.bind(ctx)
		if n, err := c.Write([]byte(".\r\n")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: wrote %d bytes, %v", name, n, err)
		}
		if _, err := c.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: read an answer to a write that failed: %v", name, err)
		}
	}
}

// lateTimer is a context whose deadline has passed but has not ended it yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }
