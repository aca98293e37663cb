package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// test is `dev test`: go test with -race -shuffle=on on a Postgres of its own. The tests start their Redis themselves.
// The arguments go to go test; without a package among them it tests all.
func (t *tool) test(ctx context.Context, args []string) error {
	postgresURL, redisServer := t.getenv("LASTSEAT_TEST_POSTGRES_URL"), t.getenv("LASTSEAT_TEST_REDIS_SERVER")
	pgbouncer := t.getenv("LASTSEAT_TEST_PGBOUNCER")
	race := t.getenv("CGO_ENABLED") != "0" // which -race needs
	office := t.getenv("LASTSEAT_TEST_SOFFICE")
	own, err := t.binaries(ctx, need{postgres: postgresURL == "", redis: redisServer == "", pgbouncer: pgbouncer == "", compiler: race, office: office == "" && testsSheets(args)})
	if err != nil {
		return err
	}
	if redisServer == "" {
		redisServer = own.redisServer
	}
	if race = race && own.compiler; !race {
		t.log.printf("WARNING: WITHOUT -race, WHICH NEEDS CGO AND A C COMPILER. DATA RACES WILL NOT BE FOUND.")
	}

	goTest := func(ctx context.Context, postgresURL string) error {
		env := append(os.Environ(),
			"LASTSEAT_TEST_POSTGRES_URL="+postgresURL,
			"LASTSEAT_TEST_REDIS_SERVER="+redisServer,
			"LASTSEAT_TEST_PGBOUNCER="+cmp.Or(pgbouncer, own.pgbouncer),
			"LASTSEAT_TEST_SOFFICE="+cmp.Or(office, own.office),
		)
		if own.postgresDir != "" { // else the tests that kill a server look for one themselves
			env = append(env, "LASTSEAT_TEST_POSTGRES_BIN="+own.postgresDir)
		}
		return t.goTest(ctx, goTestArgs(race, args), env)
	}
	if postgresURL != "" {
		t.log.printf("using the Postgres of LASTSEAT_TEST_POSTGRES_URL")
		err = goTest(ctx, postgresURL)
	} else {
		err = t.withFolder(ctx, "test", true, func(ctx context.Context, family *family, f *folder) error {
			o := postgresOptions{durable: false, maxConnections: 400, database: "postgres"}
			_, address, err := startPostgres(ctx, family, f, own.postgresDir, o)
			if err != nil {
				return err
			}
			return goTest(ctx, address)
		})
	}
	return orInterrupted(ctx, err)
}

// orInterrupted returns err, or exitInterrupted if a signal is what ended the command and not the death of a part.
func orInterrupted(ctx context.Context, err error) error {
	if death := (*deathError)(nil); ctx.Err() != nil && !errors.As(err, &death) {
		return exitInterrupted
	}
	return err
}

// goTest runs go test and passes its output and its exit status through.
func (t *tool) goTest(ctx context.Context, args, env []string) error {
	dir := t.root
	if hasPackage(args[1:]) {
		dir = "" // where the user is, for whom ./x means that
	}
	err := runProcess(ctx, command{
		name: "go test", args: append([]string{"go"}, args...), dir: dir, env: env,
		stdout: t.stdout, stderr: t.stderr, stop: syscall.SIGINT,
	})
	return passStatus(err)
}

// passStatus returns the exit status of a command that failed and has said why, or err if it is something else.
func passStatus(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exitStatus(exit.ExitCode())
	}
	return err
}

func goTestArgs(race bool, args []string) []string {
	all := []string{"test"}
	if race {
		all = append(all, "-race")
	}
	// Most tests wait for services and processes and not for a core.
	all = append(all, "-shuffle=on", "-parallel=6", "-timeout=30m")
	if !hasPackage(args) {
		all = append(all, "./...")
	}
	return append(all, args...)
}

// testsSheets reports whether the package that needs LibreOffice may be among those that are tested. To install some
// hundred megabytes for any other would be rude.
func testsSheets(args []string) bool {
	return !hasPackage(args) || slices.ContainsFunc(args, func(a string) bool {
		return strings.Contains(a, "...") || strings.Contains(a, "internal/sheet")
	})
}

// hasPackage reports whether a package is among the arguments of go test: a relative path or one of this module.
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
