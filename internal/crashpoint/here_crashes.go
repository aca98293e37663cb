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

// doom is the point at which this process dies.
type doom struct {
	at   Point
	left atomic.Int64 // how many more times the process gets there
}

var own = readDoom()

// readDoom reads the variable and removes it from the environment before main
// runs. So internal/config need not know it in this build, and refuses it in
// every other. It panics on an unknown point, because a test would wait in vain
// for the process to die.
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
		panic(fmt.Sprintf("%s: %q is not a crash point", Variable, value))
	}
	d := &doom{at: Point(name)}
	d.left.Store(n)
	return d
}

// Here kills the process if the point is its doom. As in a power cut, no
// deferred function runs and nothing is sent.
func Here(p Point) {
	if own == nil || own.at != p || own.left.Add(-1) != 0 {
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // nothing after this point happens while the signal is on its way
}
