//go:build crashpoints

package crashpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// doom is where this process dies, and how often it may come there until then.
type doom struct {
	at   Point
	left atomic.Int64
}

var own = readDoom()

// readDoom takes the variable out of the environment, before main reads that: in
// no build has internal/config to know it, and in every other it is refused. A
// point that there is not would have a test wait for a death that never comes.
func readDoom() *doom {
	value, is := os.LookupEnv(Variable)
	if !is {
		return nil
	}
	if err := os.Unsetenv(Variable); err != nil {
		panic(err)
	}
	name, times, counted := strings.Cut(value, ":")
	n, err := int64(1), error(nil)
	if counted {
		n, err = strconv.ParseInt(times, 10, 64)
	}
	if err != nil || n < 1 || !slices.Contains(All(), Point(name)) {
		panic(fmt.Sprintf("%s: %q is no crash point", Variable, value))
	}
	d := &doom{at: Point(name)}
	d.left.Store(n)
	return d
}

// Here is where the process may die: like by a power cut, without a deferred
// function and without another word to anybody.
func Here(p Point) {
	if own == nil || own.at != p || own.left.Add(-1) != 0 {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // nothing after this point happens while the signal is on its way
}
