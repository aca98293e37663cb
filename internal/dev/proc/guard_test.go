package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// startChildren is a helper: it keeps its register below the first argument, starts
// the scripts that the others are, and prints its own number and theirs. A script
// that says frozen is suspended.
func startChildren(args []string) error {
	if err := os.Setenv("TMPDIR", args[0]); err != nil {
		return err
	}
	pids := []string{strconv.Itoa(os.Getpid())}
	for _, script := range args[1:] {
		out := new(devtest.Output)
		p, err := Start(Command{Name: "child", Args: []string{"sh", "-c", script}, Stdout: out})
		if err != nil {
			return err
		}
		for !strings.Contains(out.String(), "ready") {
			time.Sleep(time.Millisecond) //nolint:forbidigo // a helper has no test to wait with
		}
		if strings.Contains(script, "frozen") {
			p.Freeze()
		}
		pids = append(pids, strconv.Itoa(p.PID))
	}
	fmt.Println(strings.Join(pids, " "))
	return nil
}

// startOther starts a process of which the helpers know nothing.
func startOther(t *testing.T) (pid int) {
	t.Helper()
	p, err := Start(Command{Name: "sleep", Args: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p.PID
}

// leaveSession is a helper that goes on as a sleep in a session of its own, as the
// children of Postgres do.
func leaveSession([]string) error {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	if _, err := syscall.Setsid(); err != nil {
		return err
	}
	fmt.Println("ready")
	return syscall.Exec(sleep, []string{"sleep", "600"}, os.Environ())
}

// numbers reads what startChildren prints.
func numbers(t *testing.T, line string) (pids []int) {
	t.Helper()
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("the helper says %q", line)
		}
		pids = append(pids, pid)
	}
	return pids
}

// runs reports whether there is a process of this number that is no zombie: where
// nothing reaps orphans, they remain.
func runs(pid int) bool { t := taskOf(pid); return t.pid == pid && !t.zombie }

func TestGuard_ends_what_a_killed_process_has_started(t *testing.T) {
	t.Parallel()
	other := startOther(t) // as a service of the environment
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	line, kill := devtest.StartHelper(t, "parent", dir,
		"echo ready; exec sleep 600",
		"trap '' TERM QUIT; echo ready; while :; do sleep 0.1; done",
		"echo ready frozen; exec sleep 600",
		"LASTSEAT_DEV_TEST_HELPER=session "+program+" & wait", // its child is in another session
		"sleep 600 & echo ready; kill -9 $$",                  // its group has lost its leader
	)
	var all []int
	for _, pid := range numbers(t, line)[1:] {
		all = append(append(all, pid), ChildrenOf(pid)...)
	}
	registers, err := filepath.Glob(filepath.Join(dir, "lastseat-processes-*", "*"))
	if err != nil || len(registers) != 1 {
		t.Fatalf("the registers %q, %v", registers, err)
	}
	kill()
	for _, pid := range all {
		testwait.Until(t, fmt.Sprintf("process %d ends", pid), func() bool { return !runs(pid) })
	}
	testwait.Until(t, "the watchdog ends", func() bool { _, err := os.Stat(registers[0]); return os.IsNotExist(err) })
	if !runs(other) {
		t.Error("it has ended another process")
	}
}

// TestGuard_after_the_watchdog_was_killed: the next process that starts a child
// ends what was left, but no other process that has a number of it by now.
func TestGuard_after_the_watchdog_was_killed(t *testing.T) {
	t.Parallel()
	other := startOther(t)
	dir := t.TempDir()
	line, kill := devtest.StartHelper(t, "parent", dir, "echo ready; exec sleep 600")
	pids := numbers(t, line)
	helper, left := pids[0], pids[1]
	watchdogs := slices.DeleteFunc(ChildrenOf(helper), func(pid int) bool { return pid == left })
	if len(watchdogs) != 1 {
		t.Fatalf("the watchdogs %v", watchdogs)
	}
	if err := syscall.Kill(watchdogs[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill()
	if !runs(left) {
		t.Fatal("its child has ended without the watchdog: this test shows nothing")
	}
	registers, err := filepath.Glob(filepath.Join(dir, "lastseat-processes-*", "*"))
	if err != nil || len(registers) != 1 {
		t.Fatalf("the registers %q, %v", registers, err)
	}
	register, err := os.OpenFile(registers[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(register, "+ %d 15 1 sleep\n", other)
	register.Close()

	devtest.StartHelper(t, "parent", dir, "echo ready; exec sleep 600")
	testwait.Until(t, "the child ends", func() bool { return !runs(left) })
	if !runs(other) {
		t.Error("it has ended another process")
	}
	if _, err := os.Stat(registers[0]); !os.IsNotExist(err) {
		t.Errorf("the register: %v", err)
	}
}

// TestGuard_ends_what_a_command_leaves: what is left of a group ends with its
// leader, as test binaries do with go test.
func TestGuard_ends_what_a_command_leaves(t *testing.T) {
	t.Parallel()
	out := new(bytes.Buffer)
	cmd := exec.Command("sh", "-c", "sleep 600 >/dev/null & echo $!; kill -9 $$")
	cmd.Stdout = out
	if err := RunGuarded(cmd); err == nil {
		t.Error("killed, and no error")
	}
	left := numbers(t, out.String())[0]
	testwait.Until(t, "its child ends", func() bool { return !runs(left) })
}

func TestRegisterFolder_is_ours_alone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	folder, err := registerFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := registerFolder(); err == nil {
		t.Error("another user may write there, and it is taken")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, folder); err != nil {
		t.Fatal(err)
	}
	if _, err := registerFolder(); err == nil {
		t.Error("a link is taken")
	}
}

func TestTasks_are_those_of_ps(t *testing.T) {
	t.Parallel()
	own := taskOf(os.Getpid())
	if own.pid != os.Getpid() || own.parent != os.Getppid() || own.started == "" || own.zombie {
		t.Errorf("this process is %+v", own)
	}
	table := tasks()[os.Getpid()]
	ps := psTasks("-p", strconv.Itoa(os.Getpid()))[os.Getpid()]
	if table != own || ps.parent != own.parent || ps.group != own.group || len(strings.Fields(ps.started)) != 1 {
		t.Errorf("%+v, %+v and %+v", own, table, ps)
	}
	if again := psTasks("-A")[os.Getpid()]; again.group != own.group {
		t.Errorf("in the whole table: %+v", again)
	}
}

func FuzzChildrenIn(f *testing.F) {
	f.Add([]byte("+ 40 15 7 redis-server\n+ 41 2 8 postgres\n- 40\n"))
	f.Add([]byte("+ 1 15 7 init\n+ -1 9 7 all\n+ 0 9 7 us\n+ 40 15\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, c := range childrenIn(bytes.NewReader(content)) {
			if c.pid <= 1 || c.started == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}

func TestChildrenIn(t *testing.T) {
	t.Parallel()
	const register = "+ 40 15 7 redis-server\n+ 41 2 8 postgres\n- 40\n+ 42 15 9 a\n- 42\n+ 42 15 10 b\n+ 43 15"
	want := []child{{41, syscall.SIGINT, "8", "postgres"}, {42, syscall.SIGTERM, "10", "b"}}
	if got := childrenIn(strings.NewReader(register)); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
