//go:build !linux

package main

import "syscall"

// dieWithParent does nothing here: only Linux knows such a signal. What a killed parent leaves behind is a Postgres
// (stopped at the next start, see stopLeftover) and programs that have to be stopped by hand.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
