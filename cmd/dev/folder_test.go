package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestClaimFolder_by_several_processes(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	inUse := func(name string) string { return filepath.Join(root, ".dev", name) }

	first, kill := startHelper(t, "claim", root)
	second, _ := startHelper(t, "claim", root)
	if first != inUse("run") || second != inUse("run-2") {
		t.Fatalf("two processes have %s and %s", first, second)
	}
	third, err := claimFolder(root, "run")
	if err != nil || third.path != inUse("run-3") {
		t.Fatalf("the third has %v, %v", third, err)
	}
	defer third.release()

	kill()
	again, err := claimFolder(root, "run")
	if err != nil || again.path != first {
		t.Fatalf("after the first was killed: %v, %v", again, err)
	}
	again.release()
}

func TestFolder_remove(t *testing.T) {
	t.Parallel()
	root, log := newRoot(t), newConsole(new(output), noEnv)
	f, err := claimFolder(root, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(f.join("some", "thing"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.wipe(context.Background(), log); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(f.path); err != nil || len(entries) != 1 {
		t.Fatalf("a wiped folder holds %v, %v: want its lock", entries, err)
	}
	if _, err := tryLock(f.lockPath()); !errors.Is(err, errLocked) {
		t.Fatalf("the lock of a wiped folder: %v", err)
	}
	if err := f.remove(context.Background(), log); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a removed folder: %v", err)
	}
}

// Who opened the lock before its folder was removed must not take the lock of a file that nobody else sees.
func TestClaimFolder_while_others_remove_theirs(t *testing.T) {
	t.Parallel()
	root, log := newRoot(t), newConsole(new(output), noEnv)
	failures := make(chan error)
	for range 8 {
		go func() {
			failures <- func() error {
				for range 50 {
					f, err := claimFolder(root, "test")
					if err != nil {
						return err
					}
					mine := f.join("mine")
					if err := os.Mkdir(mine, 0o755); err != nil {
						return err // somebody else has the same folder
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

func TestModuleRoot(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "dev", "folder.go")); err != nil {
		t.Error(err)
	}
	t.Chdir("/")
	if root, err := moduleRoot(); err == nil {
		t.Errorf("in / the root is %s", root)
	}
}
