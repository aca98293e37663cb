package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// postgresAccount returns the user Postgres runs as, nil for our own. Postgres refuses to run as root, so root takes
// the owner of the cluster there is, else "postgres", else "nobody".
func postgresAccount(f *folder) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(f.join(clusterName)); err == nil {
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 0 {
			return &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		// macOS gives nobody the id -2.
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

// clusterHome returns the folder the cluster lies in: the instance's own, or a spare one outside the project if the
// account may not enter that (a project below /root, say).
func clusterHome(f *folder, credential *syscall.Credential, program string, log *console) (string, error) {
	if credential == nil {
		return f.path, nil
	}
	if err := canRun(credential, program, "/"); err != nil {
		return "", fmt.Errorf("user %d, who is to run Postgres in place of root, cannot start %s: %w", credential.Uid, program, err)
	}
	if canRun(credential, program, f.path) == nil {
		return f.path, nil
	}
	for _, spare := range f.spares() {
		if makeSpare(spare) == nil && canRun(credential, program, spare) == nil {
			log.printf("user %d, who runs Postgres in place of root, cannot enter %s: its data is in %s", credential.Uid, f.path, spare)
			return spare, nil
		}
	}
	return "", fmt.Errorf("user %d, who is to run Postgres in place of root, can enter neither %s nor any of %s", credential.Uid, f.path, f.spares())
}

// canRun reports whether the account can start program in dir: the way to be sure is to do it.
func canRun(credential *syscall.Credential, program, dir string) error {
	cmd := exec.Command(program, "--version")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	return cmd.Run()
}

// spares returns the places outside the project where the cluster may lie, none for an ordinary user, who does not
// need one.
func (f *folder) spares() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	places := []string{filepath.Join(os.TempDir(), f.spare), filepath.Join("/tmp", f.spare)}
	return slices.Compact(places)
}

// makeSpare creates the folder or makes sure that nobody else made it. It stays root's, so that nobody else can put
// anything into it: the account may only pass through.
func makeSpare(path string) error {
	if err := os.Mkdir(path, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !isRootsAlone(path) {
		return fmt.Errorf("%s is not a folder of root's alone", path)
	}
	return os.Chmod(path, 0o711) // whatever the umask was
}

func isRootsAlone(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == 0 && info.Mode().Perm()&0o022 == 0
}
