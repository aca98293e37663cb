package stack

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// tokenName is the name of a file with a random text, which is the same in an
// instance's folder and in its spare. So the spare's data is gone with .dev.
const tokenName = "token"

// spares returns the places outside the project where the cluster may lie, none
// for an ordinary user, who does not need one.
func (f *Folder) spares() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	places := []string{filepath.Join(os.TempDir(), f.spare), filepath.Join("/tmp", f.spare)}
	return slices.Compact(places)
}

// ownSpares returns the spares that exist and that no other user has made.
func (f *Folder) ownSpares() []string {
	return slices.DeleteFunc(f.spares(), func(path string) bool { return !isRootsAlone(path) })
}

// makeSpare creates the folder, or makes sure that no other user made it. It
// stays root's, so that no other user can put anything into it: the account may
// only pass through.
func (f *Folder) makeSpare(path string) error {
	if err := os.Mkdir(path, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !isRootsAlone(path) {
		return fmt.Errorf("%s is not a folder of root's alone", path)
	}
	if err := os.Chmod(path, 0o711); err != nil { // whatever the umask is
		return err
	}
	if f.hasTokenOf(path) {
		return nil
	}
	token := []byte(rand.Text())
	return errors.Join(os.WriteFile(f.Join(tokenName), token, 0o600), os.WriteFile(filepath.Join(path, tokenName), token, 0o600))
}

// hasTokenOf reports whether the spare was made for what is in the folder.
func (f *Folder) hasTokenOf(spare string) bool {
	ours, err1 := os.ReadFile(f.Join(tokenName))
	theirs, err2 := os.ReadFile(filepath.Join(spare, tokenName))
	return err1 == nil && err2 == nil && len(ours) > 0 && bytes.Equal(ours, theirs)
}

// dropStaleSpares removes the spares of a folder that has been removed since.
func (f *Folder) dropStaleSpares(ctx context.Context, log *proc.Console) error {
	for _, spare := range f.ownSpares() {
		if f.hasTokenOf(spare) {
			continue
		}
		log.Printf("removing %s: it has the data of an earlier %s", spare, f.Path)
		if err := stopOn(ctx, spare, log); err != nil {
			return err
		}
		if err := os.RemoveAll(spare); err != nil {
			return err
		}
	}
	return nil
}

func isRootsAlone(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == 0 && info.Mode().Perm()&0o022 == 0
}
