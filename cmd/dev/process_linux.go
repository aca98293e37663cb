package main

import "syscall"

// dieWithParent makes the kernel send signal to the child when the thread that started it ends (prctl(2),
// PR_SET_PDEATHSIG), and with it when this process is killed and cannot stop anything itself.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
