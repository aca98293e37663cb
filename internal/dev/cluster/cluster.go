// Package cluster makes and starts a PostgreSQL on a data folder of its own, for
// the developer's stack and for tests. It knows nothing about Lastseat's schema.
//
//	cluster.go   the data folder: making it, opening it
//	server.go    the server on it
//	account.go   the user that runs it in place of root
//	leftover.go  a server that an earlier start left behind
//	find.go      where the programs are
//	memory_*.go  a file system in memory, for a disk that can be full
package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// Name is the name of a cluster's folder. The folder holds the data folder and
// the superuser's password, and appears by a rename once it is complete: an
// interrupted initdb leaves nothing that looks like a cluster.
const Name = "postgres"

// Cluster is an initialised data folder and the user that runs Postgres on it.
type Cluster struct {
	Path       string              // of the folder called Name
	bin        string              // the folder of initdb and postgres
	password   string              // of the superuser, postgres
	credential *syscall.Credential // nil = our own user
}

// Location says where a cluster is, or is to be made.
type Location struct {
	Bin        string              // the folder of initdb and postgres
	Home       string              // the folder that holds the cluster's folder
	Log        string              // the file that initdb's output goes to
	Credential *syscall.Credential // see Account
	Durable    bool                // initdb flushes what it writes
}

func (c *Cluster) data() string { return filepath.Join(c.Path, "data") }

// Open returns the cluster at the location. It makes one if there is none, and
// stops a Postgres that a killed parent left running on it.
func Open(ctx context.Context, l Location, log *proc.Console) (*Cluster, error) {
	c := &Cluster{Path: filepath.Join(l.Home, Name), bin: l.Bin, credential: l.Credential}
	if err := StopLeftover(ctx, c.Path, log); err != nil {
		return nil, err
	}
	if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) {
		if err := c.create(ctx, l); err != nil {
			return nil, fmt.Errorf("creating a database cluster: %w", err)
		}
	}
	password, err := os.ReadFile(filepath.Join(c.Path, "password"))
	if err != nil {
		return nil, err
	}
	c.password = strings.TrimSpace(string(password))
	return c, nil
}

// create runs initdb beside the cluster's place and moves the result there.
func (c *Cluster) create(ctx context.Context, l Location) error {
	// An initdb whose parent was killed may still be cleaning up: this one works
	// under another name.
	interrupted, _ := filepath.Glob(c.Path + ".new-*")
	for _, path := range interrupted {
		_ = os.RemoveAll(path)
	}
	unfinished, err := os.MkdirTemp(l.Home, Name+".new-*")
	if err != nil {
		return err
	}
	password := filepath.Join(unfinished, "password")
	if err := os.WriteFile(password, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	for _, path := range []string{password, unfinished} {
		if err := giveTo(c.credential, path); err != nil {
			return err
		}
	}
	if err := c.initdb(ctx, l, unfinished, password); err != nil {
		return err
	}
	return os.Rename(unfinished, c.Path)
}

func (c *Cluster) initdb(ctx context.Context, l Location, dir, password string) error {
	args := []string{
		filepath.Join(l.Bin, "initdb"), "--pgdata=" + filepath.Join(dir, "data"),
		"--username=" + superuser, "--pwfile=" + password, "--auth=scram-sha-256",
		// The same order and case rules on every machine.
		"--encoding=UTF8", "--locale=C",
	}
	if !l.Durable {
		args = append(args, "--no-sync")
	}
	logFile, err := os.Create(l.Log)
	if err != nil {
		return err
	}
	defer logFile.Close()
	err = proc.Run(ctx, proc.Command{
		Name: "initdb", Args: args, Dir: dir, Env: environment(), Credential: c.credential,
		Stdout: logFile, Stderr: logFile, StopSignal: syscall.SIGINT,
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return proc.WithLog(err, logFile.Name())
	}
	return nil
}
