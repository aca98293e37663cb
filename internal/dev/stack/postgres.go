package stack

import (
	"context"
	"fmt"
	"path/filepath"
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
	if err := f.dropStaleSpares(ctx, g.Log()); err != nil {
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
		if f.makeSpare(spare) == nil && cluster.CanRun(credential, program, spare) == nil {
			log.Printf("user %d, who runs Postgres in place of root, cannot enter %s: its data is in %s", credential.Uid, f.Path, spare)
			return spare, nil
		}
	}
	return "", fmt.Errorf("user %d, which is to run Postgres in place of root, can enter neither %s nor any of %s", credential.Uid, f.Path, f.spares())
}
