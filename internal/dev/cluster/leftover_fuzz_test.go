package cluster

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// FuzzPostmasterIn: only a number that one process can have is signalled.
func FuzzPostmasterIn(f *testing.F) {
	for _, seed := range []string{"", "4711\n/data\n", " 4711 ", "-1\n", "0", "1", "2", "+7", "4294967297", "9223372036854775807", "x", "47\x0011", "1_0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		pid := postmasterIn(content)
		if pid == 0 {
			return
		}
		if pid < 2 || pid > math.MaxInt32 || !strings.Contains(string(content), strconv.Itoa(pid)) {
			t.Errorf("%q names %d", content, pid)
		}
	})
}
