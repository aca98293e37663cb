package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/testwait"
)

// shell is a command that says when it is ready.
func shell(script string, out *output) command {
	return command{name: "shell", args: []string{"sh", "-c", script}, stdout: out, stderr: out, grace: 300 * time.Millisecond}
}

func TestProcess_halt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		clean        bool
	}{
		{"asks first", `trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done`, true},
		{"insists with SIGQUIT", `trap '' TERM; echo ready; while :; do sleep 0.05; done`, false},
		{"is quiet about what has ended", `echo ready`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := new(output)
			p, err := startProcess(shell(test.script, out))
			if err != nil {
				t.Fatal(err)
			}
			testwait.Until(t, "the script is ready", func() bool { return strings.Contains(out.String(), "ready") })
			if test.script == "echo ready" {
				<-p.ended
			}
			if clean := p.halt(); clean != test.clean {
				t.Errorf("halt() = %t", clean)
			}
			<-p.ended
		})
	}
}

func TestRunProcess_stops_with_its_context(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	out := new(output)
	result := make(chan error)
	go func() { result <- runProcess(ctx, shell("echo ready; sleep 600", out)) }()
	testwait.Until(t, "the script is ready", func() bool { return strings.Contains(out.String(), "ready") })
	cancel(why)
	if err := <-result; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestFamily_ends_with_a_member(t *testing.T) {
	t.Parallel()
	family, ctx := newFamily(t.Context(), newConsole(new(output), noEnv))
	var members []*process
	for _, script := range []string{"sleep 600", "exit 7"} {
		p, err := startProcess(shell(script, new(output)))
		if err != nil {
			t.Fatal(err)
		}
		family.adopt(p)
		members = append(members, p)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); err.Error() != "shell has died: exit status 7" {
		t.Errorf("the cause is %v", err)
	}
	family.halt()
	for _, p := range members {
		<-p.ended
	}
}

func TestProcess_dies_with_a_killed_parent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do it")
	}
	line, kill := startHelper(t, "parent")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the helper says %q", line)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatal(err)
	}
	kill()
	// Where nobody waits for orphans it stays behind as a zombie, whose command line is empty.
	testwait.Until(t, "the child is gone", func() bool { return !isProgram(pid, "sleep") })
}

// TestSignalTree freezes a process and a child in a group of its own.
func TestSignalTree(t *testing.T) {
	t.Parallel()
	out := new(output)
	p, err := startProcess(shell(`set -m; sh -c 'while :; do echo beat; sleep 0.02; done' & echo ready; wait`, out))
	if err != nil {
		t.Fatal(err)
	}
	beats := func() int { return strings.Count(out.String(), "beat") }
	testwait.Until(t, "the child beats", func() bool { return beats() > 0 })
	children := childrenOf(p.pid)
	if len(children) != 1 {
		t.Fatalf("it has the children %v, want one", children)
	}
	defer p.halt()
	defer func() { _ = syscall.Kill(children[0], syscall.SIGKILL) }()
	signalTree(p.pid, syscall.SIGSTOP)
	testwait.Until(t, "both are frozen", func() bool {
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(p.pid), "-p", strconv.Itoa(children[0])).Output()
		return err == nil && strings.Count(string(state), "T") == 2
	})
	frozenAt := beats()
	signalTree(p.pid, syscall.SIGCONT)
	testwait.Until(t, "the child beats again", func() bool { return beats() > frozenAt })
}
