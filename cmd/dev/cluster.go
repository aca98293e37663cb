package main

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
)

// A cluster is a folder of this name that holds the data folder of a Postgres and the password of its superuser. It
// appears by a rename once it is complete, so that an interrupted initdb leaves nothing that looks like one.
const clusterName = "postgres"

// cluster is an initialised data folder and who runs Postgres on it.
type cluster struct {
	path       string
	password   string
	credential *syscall.Credential // nil = our own user
}

func (c cluster) data() string { return filepath.Join(c.path, "data") }

// openCluster returns the folder's cluster. It makes one if there is none, and stops a Postgres that a killed parent
// left running on it. binDir is where initdb and postgres are.
func openCluster(ctx context.Context, f *folder, binDir string, durable bool, log *console) (cluster, error) {
	credential, err := postgresAccount(f)
	if err != nil {
		return cluster{}, err
	}
	home, err := clusterHome(f, credential, filepath.Join(binDir, "postgres"), log)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{path: filepath.Join(home, clusterName), credential: credential}
	if err := stopLeftover(ctx, c.path, log); err != nil {
		return cluster{}, err
	}
	if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
		if err := c.create(ctx, f, filepath.Join(binDir, "initdb"), durable); err != nil {
			return cluster{}, fmt.Errorf("creating a database cluster: %w", err)
		}
	}
	password, err := os.ReadFile(filepath.Join(c.path, "password"))
	if err != nil {
		return cluster{}, err
	}
	c.password = strings.TrimSpace(string(password))
	return c, nil
}

// create runs initdb beside the cluster's place and moves the result there.
func (c cluster) create(ctx context.Context, f *folder, initdb string, durable bool) error {
	// An initdb whose parent was killed may still be cleaning up: it must not find this one under its own name.
	interrupted, _ := filepath.Glob(c.path + ".new-*")
	for _, path := range interrupted {
		_ = os.RemoveAll(path)
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(c.path), clusterName+".new-*")
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

	args := []string{
		initdb, "--pgdata=" + filepath.Join(unfinished, "data"),
		"--username=postgres", "--pwfile=" + password, "--auth=scram-sha-256",
		// The same order and case rules on every machine.
		"--encoding=UTF8", "--locale=C",
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	logFile, err := os.Create(f.join("initdb.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	err = runProcess(ctx, command{
		name: "initdb", args: args, dir: unfinished, env: postgresEnv(), credential: c.credential,
		stdout: logFile, stderr: logFile, stop: syscall.SIGINT,
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return withLog(err, logFile.Name())
	}
	return os.Rename(unfinished, c.path)
}
