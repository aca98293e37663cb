// Command prepare builds a developer's program and what it is going to run, and
// becomes it. Meanwhile it fetches the services that the program is going to need.
// It imports little, so that it is built within seconds and can show the progress
// of everything else from then on.
//
//	prepare dev|bench [ARGUMENT...]
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
)

// programs are the packages of the programs that can be started.
var programs = map[string]string{"dev": "./cmd/dev", "bench": "./bench/cmd/bench"}

func main() { proc.Main("prepare", run) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	if len(args) == 0 || programs[args[0]] == "" {
		fmt.Fprintln(stderr, "usage: prepare dev|bench [ARGUMENT...]")
		return proc.ExitUsage
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	log := proc.NewConsole(stderr, getenv)
	name := args[0]
	packages := []string{programs[name]}
	var need provide.Need
	switch command := append(args, "")[1]; {
	case name == "bench":
		packages = append(packages, "./cmd/api", "./cmd/worker")
	case command == "run" || command == "rush" || command == "chaos":
		packages = append(packages, "./cmd/api", "./cmd/worker")
		own := command == "chaos" // whatever the environment gives
		need = provide.Need{
			Postgres:   own || getenv("LASTSEAT_POSTGRES_URL") == "",
			Redis:      own || getenv("LASTSEAT_REDIS_URL") == "",
			Simulation: !own,
		}
	}

	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := build(both, log, root, packages); err != nil {
			return fmt.Errorf("building: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		_, err := provide.Provider{Root: root, Getenv: getenv, Log: log}.Programs(both, need)
		return err
	})
	if err := g.Wait(); err != nil {
		return proc.OrInterrupted(ctx, err)
	}
	env := os.Environ()
	if len(packages) > 1 {
		env = append(env, provide.BuiltVariable+"="+filepath.Join(root, binDir))
	}
	return proc.Become(filepath.Join(root, binDir, name), args[1:], env)
}
