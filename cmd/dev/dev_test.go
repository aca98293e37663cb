package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// The test binary is its own second process: with this variable it runs one of these instead of the tests, says
// something on standard output and then lives until it is killed or its standard input ends.
const helperVariable = "LASTSEAT_DEV_TEST_HELPER"

var helpers = map[string]func(args []string) error{
	"claim": func(args []string) error {
		f, err := claimFolder(args[0], "run")
		if err == nil {
			fmt.Println(f.path)
		}
		return err
	},
	"parent": func([]string) error {
		p, err := startProcess(command{name: "child", args: []string{"sleep", "600"}})
		if err == nil {
			fmt.Println(p.pid)
		}
		return err
	},
}

func TestMain(m *testing.M) {
	if helper, ok := helpers[os.Getenv(helperVariable)]; ok {
		if err := helper(os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startHelper starts a helper and returns its first line and a function that kills it with SIGKILL.
func startHelper(t *testing.T, name string, args ...string) (line string, kill func()) {
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

// newRoot returns an empty folder that every user can enter, unlike that of t.TempDir.
func newRoot(t *testing.T) string {
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

// newTool returns a tool in root, with this machine's PATH and env as its whole environment, and its output.
func newTool(root string, env map[string]string) (*tool, *output) {
	out := new(output)
	getenv := func(name string) string {
		if name == "PATH" {
			return os.Getenv("PATH")
		}
		return env[name]
	}
	return &tool{root: root, getenv: getenv, stdout: out, stderr: out, log: newConsole(out, getenv)}, out
}

// output is a buffer that may be read while it is written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args   []string
		err    error
		stdout string
		stderr string
	}{
		{args: nil, stdout: "usage: dev"},
		{args: []string{"help"}, stdout: "usage: dev"},
		{args: []string{"walk"}, err: exitUsage, stderr: `unknown command "walk"`},
		{args: []string{"run", "fast"}, err: exitUsage, stderr: "takes no arguments"},
	} {
		var stdout, stderr bytes.Buffer
		err := run(context.Background(), test.args, os.Getenv, &stdout, &stderr)
		if !errors.Is(err, test.err) || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("dev %q: error %v, stdout %q, stderr %q", test.args, err, &stdout, &stderr)
		}
	}
}
