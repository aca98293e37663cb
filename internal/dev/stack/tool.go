// Package stack brings up all of Lastseat on one machine and takes it down again:
// Postgres and Redis, API and worker, a mail server that keeps every mail. It
// owns everything below .dev/ in the module's root. It knows nothing about the
// domain: it starts the same programs, with the same environment variables, as
// any deployment.
//
//	tool.go      what every command works with
//	stack.go     a whole Lastseat: starting it, stopping it
//	programs.go  building, migrating and starting API and worker
//	running.go   finding a stack that another process runs
//	services.go  Postgres and Redis: given by the environment, or our own
//	postgres.go  our own Postgres; redis.go: our own Redis; sink.go: the mail server
//	folder.go    .dev/<instance>, claimed by a lock
//	spare.go     where its data is if the user that runs Postgres cannot enter it
//	reset.go     removing all data
package stack

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
)

// Tool is what every command of a developer's tool works with.
type Tool struct {
	Root   string // the module's root, symbolic links resolved
	Getenv func(string) string
	Stdout io.Writer // what a command was asked for
	Stderr io.Writer
	Log    *proc.Console // what the tool reports, and the output of its children
}

// NewTool returns a tool for the module in root that logs to log.
func NewTool(root string, getenv func(string) string, stdout, stderr, log io.Writer) *Tool {
	return &Tool{Root: root, Getenv: getenv, Stdout: stdout, Stderr: stderr, Log: proc.NewConsole(log, getenv)}
}

// ModuleRoot returns the folder with the go.mod of the working directory, with
// symbolic links resolved, so that it is the same whichever way you came.
func ModuleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(start)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod in %s or above: start dev inside the project", start)
		}
		dir = parent
	}
}

// Programs finds the programs that a command needs, and fetches what is missing.
func (t *Tool) Programs(ctx context.Context, n provide.Need) (provide.Programs, error) {
	return provide.Provider{Root: t.Root, Getenv: t.Getenv, Log: t.Log}.Programs(ctx, n)
}

// dotDev returns a path below .dev/.
func (t *Tool) dotDev(name string) string { return filepath.Join(t.Root, ".dev", name) }
