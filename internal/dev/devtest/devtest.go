// Package devtest has helpers for the tests of the developer's tools.
package devtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Output is a buffer that may be read while it is written.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// NoEnv is an empty environment.
func NoEnv(string) string { return "" }

// Env is an environment of these variables and this machine's PATH.
func Env(variables map[string]string) func(string) string {
	return func(name string) string {
		if name == "PATH" {
			return os.Getenv("PATH")
		}
		return variables[name]
	}
}

// NewRoot returns an empty folder that every user can enter, unlike t.TempDir's.
// It is removed when the test ends.
func NewRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "lastseat-dev-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// NewModule returns a copy of the module in the folder from, in a folder that
// every user can enter.
func NewModule(t *testing.T, from string) string {
	t.Helper()
	root := NewRoot(t)
	if err := os.CopyFS(root, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return root
}

// FakeProgram writes a program that prints text, whatever it is asked.
func FakeProgram(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\necho '%s'\n", text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// CheckResult compares a result and an error with those wanted; wantErr is a part
// of the error, "" for none.
func CheckResult(t *testing.T, got string, err error, want, wantErr string) {
	t.Helper()
	if got != want || (err == nil) != (wantErr == "") || (err != nil && !strings.Contains(err.Error(), wantErr)) {
		t.Errorf("got %q, %v\nwant %q, %s", got, err, want, wantErr)
	}
}

// helperVariable makes a test binary run a helper instead of its tests.
const helperVariable = "LASTSEAT_DEV_TEST_HELPER"

// Main is a TestMain for a test binary that is also its own second process: a
// helper prints a line and then lives until it is killed or its standard input
// ends.
func Main(m *testing.M, helpers map[string]func(args []string) error) {
	helper, ok := helpers[os.Getenv(helperVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := helper(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// StartHelper starts a helper of Main. It returns the helper's first line and a
// function that kills it.
func StartHelper(t *testing.T, name string, args ...string) (line string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	line, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), kill
}
