package main

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// test is `dev test`: go test with -race -shuffle=on on a Postgres of its own. The
// tests start Redis themselves. The arguments go to go test; without a package
// among them, all packages are tested.
func test(ctx context.Context, t *stack.Tool, args []string) error {
	postgresURL, redisServer := t.Getenv("LASTSEAT_TEST_POSTGRES_URL"), t.Getenv("LASTSEAT_TEST_REDIS_SERVER")
	pgbouncer := t.Getenv("LASTSEAT_TEST_PGBOUNCER")
	race := t.Getenv("CGO_ENABLED") != "0" // which -race needs
	office := t.Getenv("LASTSEAT_TEST_SOFFICE")
	own, err := t.Programs(ctx, provide.Need{
		Postgres: postgresURL == "", Redis: redisServer == "", PgBouncer: pgbouncer == "", Compiler: race, Office: office == "" && testsSheets(args),
	})
	if err != nil {
		return err
	}
	if redisServer == "" {
		redisServer = own.RedisServer
	}
	if race = race && own.Compiler; !race {
		t.Log.Printf("WARNING: WITHOUT -race, WHICH NEEDS CGO AND A C COMPILER. DATA RACES WILL NOT BE FOUND.")
	}

	run := func(ctx context.Context, postgresURL string) error {
		env := append(os.Environ(),
			"LASTSEAT_TEST_POSTGRES_URL="+postgresURL,
			"LASTSEAT_TEST_REDIS_SERVER="+redisServer,
			"LASTSEAT_TEST_PGBOUNCER="+cmp.Or(pgbouncer, own.PgBouncer),
			"LASTSEAT_TEST_SOFFICE="+cmp.Or(office, own.Office),
		)
		if own.PostgresDir != "" { // else the tests that kill a server look for one themselves
			env = append(env, "LASTSEAT_TEST_POSTGRES_BIN="+own.PostgresDir)
		}
		return goTest(ctx, t, goTestArgs(race, args), env)
	}
	if postgresURL != "" {
		t.Log.Printf("using the Postgres of LASTSEAT_TEST_POSTGRES_URL")
		err = run(ctx, postgresURL)
	} else {
		err = t.WithFolder(ctx, "test", true, func(ctx context.Context, g *proc.Group, f *stack.Folder) error {
			o := cluster.Options{Durable: false, MaxConnections: 400}
			_, url, err := f.StartPostgres(ctx, g, own.PostgresDir, o, "postgres")
			if err != nil {
				return err
			}
			return run(ctx, url)
		})
	}
	return proc.OrInterrupted(ctx, err)
}

// goTest runs go test and passes its output and its exit status through.
func goTest(ctx context.Context, t *stack.Tool, args, env []string) error {
	dir := t.Root
	if hasPackage(args[1:]) {
		dir = "" // ./x means a package of the working directory
	}
	err := proc.Run(ctx, proc.Command{
		Name: "go test", Args: append([]string{"go"}, args...), Dir: dir, Env: env,
		Stdout: t.Stdout, Stderr: t.Stderr, StopSignal: syscall.SIGINT,
	})
	return proc.PassStatus(err)
}

func goTestArgs(race bool, args []string) []string {
	all := []string{"test"}
	if race {
		all = append(all, "-race")
	}
	// Most tests wait for services and processes, not for a core.
	all = append(all, "-shuffle=on", "-parallel=6", "-timeout=30m")
	if !hasPackage(args) {
		all = append(all, "./...")
	}
	return append(all, args...)
}

// testsSheets reports whether the package that needs LibreOffice may be among the
// tested ones. Installing some hundred megabytes for any other would be rude.
func testsSheets(args []string) bool {
	return !hasPackage(args) || slices.ContainsFunc(args, func(a string) bool {
		return strings.Contains(a, "...") || strings.Contains(a, "internal/sheet")
	})
}

// hasPackage reports whether a package is among the arguments of go test: a
// relative path or one of this module.
func hasPackage(args []string) bool {
	for _, a := range args {
		switch {
		case a == "-args" || a == "--args":
			return false
		case a == ".", strings.HasPrefix(a, "./"), strings.HasPrefix(a, "../"), strings.HasPrefix(a, "github.com/lastseat/"):
			return true
		}
	}
	return false
}
