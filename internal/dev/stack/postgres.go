package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// StartPostgres starts a Postgres on the folder's cluster, as a member of the
// group, and returns it with the URL of the database, which it creates if need be.
// bin is the folder of initdb and postgres.
func (f *Folder) StartPostgres(ctx context.Context, g *proc.Group, bin string, o cluster.Options, database string) (*cluster.Server, string, error) {
	credential, err := cluster.Account(f.Join(cluster.Name))
	if err != nil {
		return nil, "", err
	}
	home, err := f.clusterHome(credential, filepath.Join(bin, "postgres"), g.Log())
	if err != nil {
		return nil, "", err
	}
	l := cluster.Location{Bin: bin, Home: home, Log: f.Join("initdb.log"), Credential: credential, Durable: o.Durable}
	c, err := cluster.Open(ctx, l, g.Log())
	if err != nil {
		return nil, "", err
	}
	s, err := c.Start(ctx, g, f.Join("postgres.log"), o)
	if err != nil {
		return nil, "", err
	}
	url, err := cluster.EnsureDatabase(ctx, s.URL(), database)
	return s, url, err
}

// clusterHome returns the folder that the cluster lies in: the instance's own, or
// a spare one outside the project if the account may not enter that (a project
// below /root, say).
func (f *Folder) clusterHome(credential *syscall.Credential, program string, log *proc.Console) (string, error) {
	if credential == nil {
		return f.Path, nil
	}
	if err := cluster.CanRun(credential, program, "/"); err != nil {
		return "", fmt.Errorf("user %d, which is to run Postgres in place of root, cannot start %s: %w", credential.Uid, program, err)
	}
	if cluster.CanRun(credential, program, f.Path) == nil {
		return f.Path, nil
	}
	for _, spare := range f.spares() {
		if makeSpare(spare) == nil && cluster.CanRun(credential, program, spare) == nil {
			log.Printf("user %d, who runs Postgres in place of root, cannot enter %s: its data is in %s", credential.Uid, f.Path, spare)
			return spare, nil
		}
	}
	return "", fmt.Errorf("user %d, which is to run Postgres in place of root, can enter neither %s nor any of %s", credential.Uid, f.Path, f.spares())
}

// spares returns the places outside the project where the cluster may lie, none
// for an ordinary user, who does not need one.
func (f *Folder) spares() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	places := []string{filepath.Join(os.TempDir(), f.spare), filepath.Join("/tmp", f.spare)}
	return slices.Compact(places)
}

// makeSpare creates the folder, or makes sure that no other user made it. It
// stays root's, so that no other user can put anything into it: the account may
// only pass through.
func makeSpare(path string) error {
	if err := os.Mkdir(path, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !isRootsAlone(path) {
		return fmt.Errorf("%s is not a folder of root's alone", path)
	}
	return os.Chmod(path, 0o711) // whatever the umask is
}

func isRootsAlone(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == 0 && info.Mode().Perm()&0o022 == 0
}
