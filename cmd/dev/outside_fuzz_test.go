package main

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// FuzzReadSettled: counters are found where they stand, or it is said that they
// are not there.
func FuzzReadSettled(f *testing.F) {
	const task, sweep, stall = `lastseat_requests_settled_total{by="task"} `, `lastseat_requests_settled_total{by="sweep"} `, `lastseat_requests_settled_total{by="stall"} `
	for _, seed := range []string{"", task + "1\n" + sweep + "2\n" + stall + "0\n", task + "1\n", task + "x\n" + sweep + "2\n" + stall + "0", task + "NaN\n" + sweep + "+Inf\n" + stall + "0", task + "1\n" + task + "2\n", "# HELP\n" + task + "1e3\r\n" + sweep + "0x1p4\n" + stall + "0", strings.Repeat("x", 1<<17)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, metrics string) {
		s, err := readSettled(strings.NewReader(metrics))
		if err != nil {
			return
		}
		if !strings.Contains(metrics, task) || !strings.Contains(metrics, sweep) || !strings.Contains(metrics, stall) {
			t.Errorf("%q has %+v", metrics, s)
		}
		for _, n := range []float64{s.task, s.sweep} {
			if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
				t.Errorf("%q has %+v", metrics, s)
			}
		}
		if part := share(s.task, s.sweep); part < 0 || part > 1 {
			t.Errorf("%q: the share is %g", metrics, part)
		}
	})
}

// FuzzPostmasterIn: what is signalled is one process that can be somebody's.
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

func FuzzVersionIn(f *testing.F) {
	for _, seed := range []string{"postgres (PostgreSQL) 15.20 (Debian 15.20-1)", "postgres (PostgreSQL) 19beta1", "Redis server v=7.0.15 sha=00000000", "", "PostgreSQL) .5", "v=" + strings.Repeat("9", 400), "v=0.0", "v=07.01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		version := versionIn(out)
		if version < 0 || math.IsNaN(version) || math.IsInf(version, 0) || version > 0 && !strings.Contains(string(out), "v=") && !strings.Contains(string(out), "PostgreSQL) ") {
			t.Errorf("%q tells the version %g", out, version)
		}
	})
}

// FuzzLineWriter: however a child cuts what it says into writes, it becomes the
// same lines, each behind its prefix and none too long.
func FuzzLineWriter(f *testing.F) {
	for _, seed := range []string{"", "a\nb\n", "a\r\n\r\n", "no end", strings.Repeat("x", maxLine+2) + "\ny", "\x1b[31m\n", "\xff\n", "\n\n"} {
		f.Add([]byte(seed), uint16(1))
		f.Add([]byte(seed), uint16(7))
	}
	f.Fuzz(func(t *testing.T, said []byte, size uint16) {
		write := func(size int) string {
			out := new(output)
			w := newConsole(out, noEnv).lines("api")
			for rest := said; len(rest) > 0; {
				n := min(max(size, 1), len(rest))
				if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
					t.Fatalf("wrote %d of %d bytes, %v", wrote, n, err)
				}
				rest = rest[n:]
			}
			w.flush()
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
