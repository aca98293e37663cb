//go:build !linux

package main

import "errors"

var errNoMemoryDisk = errors.New("that needs Linux")

func mountMemory(string, uint64) error  { return errNoMemoryDisk }
func resizeMemory(string, uint64) error { return errNoMemoryDisk }
func usedMemory(string) (uint64, error) { return 0, errNoMemoryDisk }
func unmountMemory(string) error        { return nil }
