package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// StopLeftover makes sure that nothing runs on the cluster at path. Postgres
// handles the postmaster.pid of a dirty stop itself, with two exceptions: the
// process still runs on this data, or its number now belongs to another process
// (common where containers restart), which would keep Postgres from starting.
func StopLeftover(ctx context.Context, path string, log *proc.Console) error {
	data := filepath.Join(path, "data")
	pidFile := filepath.Join(data, "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	pid := postmasterIn(content)
	if pid == 0 || !proc.Alive(pid) {
		return nil
	}
	if !isPostgresOn(pid, data) {
		// The file also points Postgres to backends that outlived their postmaster.
		// There are none: they end with it, and it ended long enough ago for its number
		// to be in use again.
		return os.Remove(pidFile)
	}
	log.Printf("stopping the Postgres (process %d) that an earlier start left behind on %s", pid, data)
	return stopPostgres(ctx, pid, data)
}

func stopPostgres(ctx context.Context, pid int, data string) error {
	proc.SignalTree(pid, syscall.SIGCONT) // chaos may have frozen it or a backend
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}} {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping process %d, a Postgres on %s: %w", pid, data, err)
		}
		for end := time.Now().Add(step.wait); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if !isPostgresOn(pid, data) {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return fmt.Errorf("process %d, a Postgres on %s, does not stop", pid, data)
}

// postmasterIn returns the process that the first line of a postmaster.pid names,
// 0 if it names none. A signal to a number below 2 would reach a group, every
// process, or the first process of the machine.
func postmasterIn(content []byte) int {
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.ParseInt(strings.TrimSpace(line), 10, 32)
	if err != nil || pid <= 1 {
		return 0
	}
	return int(pid)
}

// isPostgresOn reports whether the process is a postgres that Start started on
// the data folder.
func isPostgresOn(pid int, data string) bool {
	return proc.IsProgram(pid, "postgres", "-D "+data+" ")
}
