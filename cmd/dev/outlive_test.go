package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// holdVariable makes TestHold a test that lasts until it is killed.
const holdVariable = "LASTSEAT_TEST_HOLD"

// TestHold is the test that `make test` runs below
// TestTimingNothingOutlivesItsCommand.
func TestHold(t *testing.T) {
	if os.Getenv(holdVariable) == "" {
		return
	}
	pgtest.StartServer(t)
	redistest.Start(t)
	fmt.Println("it holds its services")
	select {}
}

// command is a command of make, and what it prints when all that it starts runs.
type command struct {
	args  []string
	ready string
	kills []string // what is killed, as it appears in a command line
}

const (
	killMake     = "make"
	killLauncher = ".dev/bin/dev"
	killGoTest   = "tools/go test"
	killTest     = "tools/hold.test"
)

var commands = []command{
	{[]string{"run"}, "Lastseat is up", []string{killMake, killLauncher}},
	{[]string{"rush", "PEOPLE=10000"}, "run rush-", []string{killMake, killLauncher}},
	{[]string{"chaos"}, "faults for 60 seconds", []string{killMake, killLauncher}},
	{[]string{"test", "ARGS=./hold"}, "it holds its services", []string{killMake, killLauncher, killGoTest, killTest}},
}

// TestTimingNothingOutlivesItsCommand kills each process of the chain that a
// command is, as each kind of user, and then runs the command again. Where no times
// are compared, it does so for the longest chain as our own user.
func TestTimingNothingOutlivesItsCommand(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("without /proc, the descendants of a process cannot be found when it has ended")
	}
	testwait.ParallelUnlessTiming(t)
	tools := buildOutliveTools(t)
	users := map[string]*syscall.Credential{"own": nil}
	wanted := commands[3:]
	if testwait.Timing() {
		wanted = commands
		if nobody, err := user.Lookup("nobody"); err == nil && os.Geteuid() == 0 {
			uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
			gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
			users["nobody"] = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	given := redistest.Start(t) // it must outlive what uses it
	t.Run("kill", func(t *testing.T) {
		for _, c := range wanted {
			t.Run(c.args[0], func(t *testing.T) {
				t.Parallel()
				for name, credential := range users { // one after the other: make run has known ports
					t.Run(name, func(t *testing.T) {
						p := newProject(t, tools, credential)
						if c.args[0] == "run" {
							p.env = append(p.env, "LASTSEAT_REDIS_URL="+given.URL())
						}
						for _, kill := range c.kills {
							p.killDuring(c, kill)
						}
						if out, err := p.make("reset"); err != nil {
							t.Errorf("make reset: %v\n%s", err, out)
						}
					})
				}
			})
		}
	})
	if err := given.Client().Ping(t.Context()).Err(); err != nil {
		t.Errorf("the Redis of the environment: %v", err)
	}
}

// buildOutliveTools returns a folder with the programs that a command starts, and a
// go command that has built them already and whose one test is TestHold.
func buildOutliveTools(t *testing.T) string {
	t.Helper()
	tools := filepath.Join(devtest.NewRoot(t), "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", tools+"/", ".", "./prepare", "../api", "../worker")
	var said bytes.Buffer
	build.Stdout, build.Stderr = &said, &said
	if err := proc.RunGuarded(build); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	goCommand := fmt.Sprintf(`#!/bin/sh
tools=%s
if [ "$1" = test ]; then
	%s=1 $tools/hold.test -test.run='^TestHold$'
	exit
fi
while [ "$1" != -o ]; do shift; done
case "$2" in
*/prepare.*) ln -sf $tools/prepare "$2" ;;
*) ln -sf $tools/dev $tools/api $tools/worker "$2" ;;
esac
`, tools, holdVariable)
	for name, content := range map[string][]byte{"hold.test": test, "go": []byte(goCommand)} {
		if err := os.WriteFile(filepath.Join(tools, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return tools
}

// project is a folder with our Makefile, in which a user runs commands.
type project struct {
	t          *testing.T
	root       string
	env        []string
	credential *syscall.Credential
}

func newProject(t *testing.T, tools string, credential *syscall.Credential) *project {
	t.Helper()
	p := &project{t: t, root: devtest.NewRoot(t), credential: credential}
	for _, name := range []string{"Makefile", "go.mod", "cmd/dev/start.sh"} {
		path := filepath.Join(p.root, name)
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	temporary := filepath.Join(p.root, "tmp")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	if credential != nil {
		for _, path := range []string{p.root, temporary} {
			if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() { // what is left after a failure
		for _, line := range p.left() {
			pid, _, _ := strings.Cut(line, " ")
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	})
	p.env = []string{
		"PATH=" + tools + ":" + os.Getenv("PATH") + ":/usr/sbin", "HOME=" + p.root, "TMPDIR=" + temporary,
		"CGO_ENABLED=0", "LASTSEAT_DEV_INSTALL=no",
	}
	for _, name := range []string{redistest.Variable, pgtest.BinVariable, pgtest.PoolerVariable} {
		if value := os.Getenv(name); value != "" {
			p.env = append(p.env, name+"="+value)
		}
	}
	return p
}

// make runs a command of make to its end and returns its output.
func (p *project) make(args ...string) (string, error) {
	var out bytes.Buffer
	err := proc.Run(p.t.Context(), proc.Command{
		Name: "make", Args: append([]string{"make"}, args...), Dir: p.root, Env: p.env, Credential: p.credential,
		Stdout: &out, Stderr: &out,
	})
	return out.String(), err
}

// killDuring kills one process while the command runs and waits until nothing of
// the command is left.
func (p *project) killDuring(c command, kill string) {
	p.t.Helper()
	path := filepath.Join(p.root, "out")
	out, err := os.Create(path) // a file: it takes what is written after the end of make
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	said := func() string {
		content, err := os.ReadFile(path)
		if err != nil {
			p.t.Fatal(err)
		}
		return string(content)
	}
	// make is in a group of its own, or what it leaves would end with the shell.
	script := `setsid make "$@" & wait`
	shell, err := proc.Start(proc.Command{
		Name: "sh", Args: append([]string{"sh", "-c", script, "sh"}, c.args...), Dir: p.root, Env: p.env,
		Credential: p.credential, Stdout: out, Stderr: out,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	testwait.Until(p.t, fmt.Sprintf("%q is printed", c.ready), func() bool {
		select {
		case <-shell.Ended():
			p.t.Fatalf("make %v has ended: %s", c.args, said())
		default:
		}
		return strings.Contains(said(), c.ready)
	})
	victims := below(shell.PID, kill)
	if len(victims) == 0 {
		p.t.Fatalf("there is no %s below make %v:\n%s", kill, c.args, strings.Join(p.left(), "\n"))
	}
	began := time.Now()
	if err := syscall.Kill(victims[0], syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	var left []string
	defer func() {
		for _, process := range left {
			p.t.Errorf("left is %.200s", process)
		}
	}()
	testwait.Until(p.t, fmt.Sprintf("nothing is left of make %s after the end of %s", c.args[0], kill), func() bool {
		left = p.left()
		return len(left) == 0
	})
	what := fmt.Sprintf("ending make %s after a kill -9 of %s", c.args[0], kill)
	testwait.Promised(p.t, what, time.Since(began), 10*time.Second)
}

// below returns the descendants of a process whose command line has the text, the
// eldest first.
func below(pid int, text string) (found []int) {
	for _, child := range proc.ChildrenOf(pid) {
		if strings.Contains(commandLine(strconv.Itoa(child)), text) {
			found = append(found, child)
		}
		found = append(found, below(child, text)...)
	}
	return found
}

func commandLine(pid string) string {
	content, _ := os.ReadFile("/proc/" + pid + "/cmdline") // it may have ended
	return strings.ReplaceAll(string(content), "\x00", " ")
}

// left returns the command lines of all processes that work for the project: those
// with its variables, and Postgres' children, which overwrite theirs, in its
// folders.
func (p *project) left() (lines []string) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range all {
		environ, _ := os.ReadFile(path + "/environ") // it may have ended, as before the next two
		dir, _ := os.Readlink(path + "/cwd")
		line := commandLine(filepath.Base(path))
		ours := bytes.Contains(environ, []byte("HOME="+p.root+"\x00")) || strings.HasPrefix(dir, p.root) ||
			strings.Contains(line, p.root)
		if ours && line != "" { // else it is a zombie
			lines = append(lines, filepath.Base(path)+" "+line)
		}
	}
	return lines
}
