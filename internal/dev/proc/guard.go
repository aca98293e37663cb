package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// StartGuarded starts cmd in a process group of its own that does not outlive us:
// when this process ends, whatever ends it, the watchdog sends stop to the group,
// and SIGKILL to what is left of it some seconds later. Call WaitGuarded for its
// end. Only a kill -9 between the two calls of this function can lose a child.
func StartGuarded(cmd *exec.Cmd, stop syscall.Signal) error {
	r, err := ourRegister()
	if err != nil {
		return fmt.Errorf("starting the watchdog: %w", err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = 2 * time.Second // a grandchild may keep our pipe open for ever
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := r.add(child{cmd.Process.Pid, stop, taskOf(cmd.Process.Pid).started, filepath.Base(cmd.Path)}); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("telling the watchdog: %w", err)
	}
	return nil
}

// WaitGuarded waits for the end of a command that StartGuarded has started, and
// ends what is left of its process group.
func WaitGuarded(cmd *exec.Cmd) error {
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly nothing is left
	if r, trouble := ourRegister(); trouble == nil {
		r.remove(cmd.Process.Pid)
	}
	return err
}

// RunGuarded runs cmd to its end.
func RunGuarded(cmd *exec.Cmd) error {
	if err := StartGuarded(cmd, syscall.SIGTERM); err != nil {
		return err
	}
	return WaitGuarded(cmd)
}

// register is the file that says which children this process has. The watchdog
// reads it once its end of the pipe says that this process has ended. Both hold
// the file's lock. So a register that nobody has locked is one whose process and
// watchdog were killed, or the machine stopped: the next process that starts a
// child ends what is in it (clearRegisters).
type register struct {
	file *os.File
	pipe *os.File // is never written to; closes with this process
}

// ourRegister returns the register of this process. The first call starts the
// watchdog.
var ourRegister = sync.OnceValues(func() (*register, error) {
	dir, err := registerFolder()
	if err != nil {
		return nil, err
	}
	// Until the new register is locked, no other process may take it for one that was
	// left.
	lock, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	clearRegisters(dir)
	file, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	pipe, err := startWatchdog(file)
	return &register{file, pipe}, err
})

// registerFolder returns the folder of our user's registers. Nobody else may put
// anything into it: root would end what it names.
func registerFolder() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("lastseat-processes-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is not a folder of our user's alone", dir)
	}
	return dir, nil
}

// clearRegisters ends what processes have left whose watchdog was killed, too.
func clearRegisters(dir string) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is well-formed
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			continue // its watchdog has just removed it
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			left := make([]child, 0)
			for _, c := range childrenIn(file) {
				if c.leads(taskOf(c.pid)) {
					fmt.Fprintf(os.Stderr, "stopping %s (process %d), which an earlier command left running\n", c.name, c.pid)
					left = append(left, c)
				}
			}
			endAll(left)
			_ = os.Remove(path) // else the next process removes it
		}
		file.Close()
	}
}

// child is a line of a register.
type child struct {
	pid     int // of the process that leads the group
	stop    syscall.Signal
	started string // tells it from a later process of the same number
	name    string
}

// leads reports whether the task is this child, and not another process that has
// its number by now.
func (c child) leads(t task) bool { return t.pid == c.pid && t.started == c.started }

func (r *register) add(c child) error {
	_, err := fmt.Fprintf(r.file, "+ %d %d %s %s\n", c.pid, c.stop, c.started, strings.Join(strings.Fields(c.name), "_"))
	return err
}

func (r *register) remove(pid int) {
	_, _ = fmt.Fprintf(r.file, "- %d\n", pid) // a child too many in it is recognised as gone
}
