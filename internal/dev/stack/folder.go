package stack

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

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/filelock"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// Folder is .dev/<name>. It belongs to one instance of the stack for as long as
// its lock is held. The lock is the kernel's (flock(2)): it ends with this
// process, however that ends.
type Folder struct {
	Path string
	lock *os.File
	// spare is the name of a folder outside the project that holds the cluster if
	// the user that runs Postgres cannot enter Path. It follows from
	// Path. Mostly the folder does not exist.
	spare string // see spare.go
}

// lockName is the name of the file that is locked.
const lockName = "lock"

// claimFolder takes .dev/<name> or, if another instance has it, the first free one
// of <name>-2, <name>-3, …
func claimFolder(root, name string) (*Folder, error) {
	for i := 1; i < 100; i++ {
		instance := name
		if i > 1 {
			instance = fmt.Sprintf("%s-%d", name, i)
		}
		f := openFolder(root, instance)
		lock, err := filelock.Try(f.Join(lockName))
		if err == nil {
			f.lock = lock
			return f, nil
		}
		if _, there := os.Stat(f.Path); errors.Is(err, fs.ErrPermission) && there != nil {
			return nil, fmt.Errorf("%w (if .dev belongs to another user, it may be removed: it holds nothing but local data)", err)
		}
		if !errors.Is(err, filelock.ErrLocked) && !errors.Is(err, fs.ErrPermission) { // in use, or another user's
			return nil, err
		}
	}
	return nil, fmt.Errorf("a hundred instances in %s are in use", filepath.Join(root, ".dev"))
}

func openFolder(root, instance string) *Folder {
	return &Folder{Path: filepath.Join(root, ".dev", instance), spare: sparePrefix(root) + instance}
}

// sparePrefix is how the names of the spares of the project in root begin.
func sparePrefix(root string) string {
	sum := sha256.Sum256([]byte(root))
	return fmt.Sprintf("lastseat-dev-%x-", sum[:5])
}

// Join returns a path in the folder.
func (f *Folder) Join(name ...string) string {
	return filepath.Join(append([]string{f.Path}, name...)...)
}

// wipe stops a Postgres that a killed parent left in the folder and removes
// everything but the lock.
func (f *Folder) wipe(ctx context.Context, log *proc.Console) error {
	spares := f.ownSpares()
	for _, home := range append(slices.Clone(spares), f.Path) {
		if err := stopOn(ctx, home, log); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockName {
			continue
		}
		if err := os.RemoveAll(f.Join(e.Name())); err != nil {
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

// stopOn stops a Postgres that a killed parent left on the cluster in the folder,
// and unmounts its small disk.
func stopOn(ctx context.Context, home string, log *proc.Console) error {
	if err := cluster.StopLeftover(ctx, filepath.Join(home, cluster.Name), log); err != nil {
		return err
	}
	if err := cluster.UnmountMemory(filepath.Join(home, cluster.Name, DiskName)); err != nil {
		return fmt.Errorf("unmounting the disk of chaos: %w", err)
	}
	return nil
}

// DiskName is the folder beside a cluster's data folder on which chaos mounts a
// small disk.
const DiskName = "disk"

// remove wipes the folder and gives it up. The lock goes before the folder: a
// process that still finds it takes another name, and one that does not makes a
// new folder.
func (f *Folder) remove(ctx context.Context, log *proc.Console) error {
	defer f.release()
	if err := f.wipe(ctx, log); err != nil {
		return err
	}
	if err := os.Remove(f.Join(lockName)); err != nil {
		return err
	}
	if err := os.Remove(f.Path); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// release gives the folder up and keeps its content.
func (f *Folder) release() { _ = f.lock.Close() }
