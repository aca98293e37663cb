package stack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/filelock"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

func TestClaimFolder_by_several_processes(t *testing.T) {
	t.Parallel()
	root := devtest.NewRoot(t)
	inUse := func(name string) string { return filepath.Join(root, ".dev", name) }

	first, kill := devtest.StartHelper(t, "claim", root)
	second, _ := devtest.StartHelper(t, "claim", root)
	if first != inUse("run") || second != inUse("run-2") {
		t.Fatalf("two processes have %s and %s", first, second)
	}
	third, err := claimFolder(root, "run")
	if err != nil || third.Path != inUse("run-3") {
		t.Fatalf("the third has %v, %v", third, err)
	}
	defer third.release()

	kill()
	again, err := claimFolder(root, "run")
	if err != nil || again.Path != first {
		t.Fatalf("after the first was killed: %v, %v", again, err)
	}
	again.release()
}

func TestFolder_remove(t *testing.T) {
	t.Parallel()
	root, log := devtest.NewRoot(t), proc.NewConsole(new(devtest.Output), devtest.NoEnv)
	f, err := claimFolder(root, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(f.Join("some", "thing"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.wipe(context.Background(), log); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(f.Path); err != nil || len(entries) != 1 {
		t.Fatalf("a wiped folder holds %v, %v: want its lock", entries, err)
	}
	if _, err := filelock.Try(f.Join(lockName)); !errors.Is(err, filelock.ErrLocked) {
		t.Fatalf("the lock of a wiped folder: %v", err)
	}
	if err := f.remove(context.Background(), log); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a removed folder: %v", err)
	}
}

// A process that opened the lock before its folder was removed must not take the
// lock of a file that no other process sees.
func TestClaimFolder_while_folders_are_removed(t *testing.T) {
	t.Parallel()
	root, log := devtest.NewRoot(t), proc.NewConsole(new(devtest.Output), devtest.NoEnv)
	failures := make(chan error)
	for range 8 {
		go func() {
			failures <- func() error {
				for range 50 {
					f, err := claimFolder(root, "test")
					if err != nil {
						return err
					}
					mine := f.Join("mine")
					if err := os.Mkdir(mine, 0o755); err != nil {
						return err // another goroutine has the same folder
					}
					if err := f.remove(context.Background(), log); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range 8 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}

// TestReset removes nothing while an instance runs, and then all data, but not the
// tools.
func TestReset(t *testing.T) {
	t.Parallel()
	root := devtest.NewRoot(t)
	tool, _ := newTool(root, nil)
	if err := tool.Reset(t.Context()); err != nil {
		t.Fatalf("without .dev: %v", err)
	}
	inDev := func(name ...string) string { return filepath.Join(append([]string{root, ".dev"}, name...)...) }
	for _, path := range []string{inDev("run", "data"), inDev("rush-2", "data"), inDev("bin")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, kill := devtest.StartHelper(t, "claim", root) // it has run
	if err := tool.Reset(t.Context()); err == nil || !strings.Contains(err.Error(), "instance run is running") {
		t.Errorf("while it runs: %v", err)
	}
	if _, err := os.Stat(inDev("rush-2", "data")); err != nil {
		t.Errorf("a refused reset has removed: %v", err)
	}
	kill()
	if err := tool.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(inDev()); err != nil || len(left) != 1 || left[0].Name() != "bin" {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestModuleRoot(t *testing.T) {
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "internal", "dev", "stack", "folder.go")); err != nil {
		t.Error(err)
	}
	t.Chdir("/")
	if root, err := ModuleRoot(); err == nil {
		t.Errorf("in / the root is %s", root)
	}
}
