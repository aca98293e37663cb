// Package filelock has locks between processes that end with their process.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrLocked says that another process has the lock.
var ErrLocked = errors.New("locked by another process")

// Try locks the file at path, which it creates with its folder if need be. It
// returns ErrLocked if another process has the lock.
func Try(path string) (*os.File, error) {
	for {
		// The previous owner of the lock may remove the folder at any moment
		// (Folder.remove). Then this starts over.
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
				return nil, ErrLocked
			}
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		// If the file was removed between opening and locking it, the lock is on a file
		// that no other process sees.
		ours, err1 := file.Stat()
		theirs, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, theirs) {
			return file, nil
		}
		file.Close()
	}
}

// Await locks the file at path. It waits for the lock until ctx is done.
func Await(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := Try(path)
		if !errors.Is(err, ErrLocked) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
