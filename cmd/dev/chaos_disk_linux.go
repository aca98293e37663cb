package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// mountMemory mounts a file system in memory. Only root may.
func mountMemory(path string, size uint64) error {
	return unix.Mount("lastseat", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
}

// resizeMemory changes its size. It fails if more is used.
func resizeMemory(path string, size uint64) error {
	return unix.Mount("lastseat", path, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", size))
}

// usedMemory returns how much of it is used.
func usedMemory(path string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return (s.Blocks - s.Bfree) * uint64(s.Bsize), err
}

// unmountMemory takes away what mountMemory mounted at the path, if it did.
func unmountMemory(path string) error {
	err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
		return nil // nothing is mounted there, or not by us
	}
	return err
}
