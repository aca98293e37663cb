package cluster

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// MountMemory mounts a file system of that many bytes in memory. Only root may.
func MountMemory(path string, size uint64) error {
	return unix.Mount("lastseat", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
}

// ResizeMemory changes the size of what MountMemory mounted. It fails if more is
// used.
func ResizeMemory(path string, size uint64) error {
	return unix.Mount("lastseat", path, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", size))
}

// UsedMemory returns how many bytes of it are used.
func UsedMemory(path string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return (s.Blocks - s.Bfree) * uint64(s.Bsize), err
}

// UnmountMemory unmounts what MountMemory mounted at the path, if it did.
func UnmountMemory(path string) error {
	err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
		return nil // nothing is mounted there, or not by us
	}
	return err
}
