//go:build !linux

package cluster

import "errors"

var errNoMemoryDisk = errors.New("that needs Linux")

// MountMemory fails: only Linux has tmpfs.
func MountMemory(string, uint64) error { return errNoMemoryDisk }

// ResizeMemory fails: only Linux has tmpfs.
func ResizeMemory(string, uint64) error { return errNoMemoryDisk }

// UsedMemory fails: only Linux has tmpfs.
func UsedMemory(string) (uint64, error) { return 0, errNoMemoryDisk }

// UnmountMemory does nothing: MountMemory mounts nothing.
func UnmountMemory(string) error { return nil }
