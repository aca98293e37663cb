package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/filelock"
)

// Reset removes all data of the instances: what is in .dev but its programs, and
// what is in their spares. While an instance runs, it removes nothing and returns
// an error.
func (t *Tool) Reset(ctx context.Context) error {
	names, err := t.instances()
	if err != nil {
		return err
	}
	var folders []*Folder
	defer func() {
		for _, f := range folders {
			f.release()
		}
	}()
	for _, name := range names {
		f := openFolder(t.Root, name)
		if f.lock, err = filelock.Try(f.Join(lockName)); errors.Is(err, filelock.ErrLocked) {
			return fmt.Errorf("instance %s is running: nothing is removed before it is stopped", name)
		} else if err != nil {
			return err
		}
		folders = append(folders, f)
	}
	for len(folders) > 0 {
		if err := folders[0].remove(ctx, t.Log); err != nil {
			return err
		}
		t.Log.Printf("the data of instance %s is removed", filepath.Base(folders[0].Path))
		folders = folders[1:]
	}
	return nil
}

// instances returns the names of the instances that have a folder or a spare.
func (t *Tool) instances() (names []string, err error) {
	entries, err := os.ReadDir(t.dotDev(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "bin" { // where make builds the tools
			names = append(names, e.Name())
		}
	}
	if os.Geteuid() != 0 {
		return names, nil
	}
	prefix := sparePrefix(t.Root)
	for _, place := range []string{os.TempDir(), "/tmp"} {
		spares, _ := filepath.Glob(filepath.Join(place, prefix+"*"))
		for _, path := range spares {
			if isRootsAlone(path) {
				names = append(names, strings.TrimPrefix(filepath.Base(path), prefix))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
