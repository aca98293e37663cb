package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// Account returns the user that runs Postgres on the cluster at path, which need
// not exist: nil, which is our own user, unless that is root. Postgres refuses to
// run as root, so root takes the owner of the cluster, else "postgres", else
// "nobody".
func Account(path string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil {
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 0 {
			return &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		// On macOS, nobody has the id -2.
		uid, err1 := strconv.ParseInt(account.Uid, 10, 64)
		gid, err2 := strconv.ParseInt(account.Gid, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("reading the ids of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgres refuses to run as root, and this machine has neither a user postgres nor a user nobody: start dev as an ordinary user")
}

// giveTo makes path, which must not be a link, belong to the account.
func giveTo(credential *syscall.Credential, path string) error {
	if credential == nil {
		return nil
	}
	return os.Lchown(path, int(credential.Uid), int(credential.Gid))
}

// CanRun starts the program in dir as the account, to see whether it can.
func CanRun(credential *syscall.Credential, program, dir string) error {
	cmd := exec.Command(program, "--version")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	return cmd.Run()
}
