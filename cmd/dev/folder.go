package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// folder is .dev/<name>, which belongs to one instance of the stack for as long as its lock is held. The lock is the
// kernel's (flock(2)): it ends with this process, however that ends.
type folder struct {
	path string
	lock *os.File
	// spare is a folder outside the project that replaces path where the user Postgres runs as cannot reach path
	// (cluster.go). Its name follows from path. Mostly it does not exist.
	spare string
}

// moduleRoot returns the folder that holds the go.mod of the working directory, with symbolic links resolved, so that
// it is the same however one gets there.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(start)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod in %s or above: start dev inside the project", start)
		}
		dir = parent
	}
}

// claimFolder takes .dev/<name> or, if another instance has it, the first free one of <name>-2, <name>-3, …
func claimFolder(root, name string) (*folder, error) {
	for i := 1; i < 100; i++ {
		instance := name
		if i > 1 {
			instance = fmt.Sprintf("%s-%d", name, i)
		}
		f := openFolder(root, instance)
		lock, err := tryLock(f.lockPath())
		if err == nil {
			f.lock = lock
			return f, nil
		}
		if _, there := os.Stat(f.path); errors.Is(err, fs.ErrPermission) && there != nil {
			return nil, fmt.Errorf("%w (if .dev belongs to another user, it may be removed: it holds nothing but local data)", err)
		}
		if !errors.Is(err, errLocked) && !errors.Is(err, fs.ErrPermission) { // in use, or another user's
			return nil, err
		}
	}
	return nil, fmt.Errorf("a hundred instances in %s are in use", filepath.Join(root, ".dev"))
}

func openFolder(root, instance string) *folder {
	path := filepath.Join(root, ".dev", instance)
	sum := sha256.Sum256([]byte(root))
	return &folder{path: path, spare: fmt.Sprintf("lastseat-dev-%x-%s", sum[:5], instance)}
}

func (f *folder) lockPath() string { return filepath.Join(f.path, "lock") }
func (f *folder) join(name ...string) string {
	return filepath.Join(append([]string{f.path}, name...)...)
}

// wipe stops a Postgres that a killed parent left in the folder and removes everything but the lock.
func (f *folder) wipe(ctx context.Context, log *console) error {
	spares := slices.DeleteFunc(f.spares(), func(path string) bool { return !isRootsAlone(path) })
	for _, home := range append(spares, f.path) {
		if err := stopLeftover(ctx, filepath.Join(home, clusterName), log); err != nil {
			return err
		}
		if err := unmountMemory(filepath.Join(home, clusterName, diskName)); err != nil {
			return wrap("unmounting the disk of chaos", err)
		}
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(f.lockPath()) {
			continue
		}
		if err := os.RemoveAll(f.join(e.Name())); err != nil {
			return err
		}
	}
	for _, spare := range spares {
		if err := os.RemoveAll(spare); err != nil {
			return err
		}
	}
	return nil
}

// remove wipes the folder and gives it back. The lock goes last but one: who finds it has lost the race for this name,
// who does not find it has a new folder.
func (f *folder) remove(ctx context.Context, log *console) error {
	defer f.release()
	if err := f.wipe(ctx, log); err != nil {
		return err
	}
	if err := os.Remove(f.lockPath()); err != nil {
		return err
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// release gives the folder back and keeps what is in it.
func (f *folder) release() { _ = f.lock.Close() }

var errLocked = errors.New("locked by another process")

// tryLock locks the file at path, which it creates with its folder if need be. It returns errLocked if somebody else
// has the lock.
func tryLock(path string) (*os.File, error) {
	for {
		// Whoever had the lock may be removing the folder at any moment (folder.remove). Then this begins again.
		if err := os.MkdirAll(filepath.Dir(path), 0o755); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, errLocked
			}
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		// Removed between opening and locking it? Then the lock is on a file nobody else sees.
		ours, err1 := file.Stat()
		theirs, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, theirs) {
			return file, nil
		}
		file.Close()
	}
}

// awaitLock locks the file at path, waiting for it until ctx is done.
func awaitLock(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
