// Command dev is the developer's tool: it brings up all of Lastseat on one machine
// and takes it down again, tests it, rushes it and breaks it. It is never part of
// a deployment. What it does is in internal/dev; the benchmarks are another
// program, bench/cmd/bench, so that nobody has to build the rivals to run Lastseat.
//
//	main.go  the commands
//	run.go   dev run: the stack in the foreground; seed.go: its example courses;
//	         summary.go: what it says while it runs
//	test.go  dev test: go test on services of its own
//	fuzz.go  dev fuzz: every fuzz test for some seconds
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lastseat/lastseat/internal/dev/chaos"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/rush"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

const usage = `dev runs lastseat on this machine.

usage: dev <command> [arguments]

  run [-port N]           Postgres, Redis, API, worker and a mail sink in the foreground, with example courses; Ctrl-C
                          stops it all. The API listens on port N and the others on the four above, else on 8080 and
                          other known ports where they are free
  info                    the addresses, the organiser's token and the examples that run prints, again
  rush [-people N] [-seats N] [-waitlist N] [-cancel SHARE] [-json]
                          the last-seat race on the stack that runs, or on one of its own, with a verdict; -waitlist
                          is the places on the waiting list (0 = none, all = any number), -cancel the share (0 to 1)
                          of the people with a seat or a place who cancel meanwhile
  chaos [-seconds N] [-seed N] [-faults KINDS] [-json]
                          people ask, cancel and wait while programs, services and connections are killed, frozen, cut
                          and restarted for so long; then everything is healed and every promise is checked. The same
                          seed breaks the same things; -faults is the kinds of faults to make, all if it is empty
  test [go test args]     the whole suite with -race -shuffle=on on a Postgres of its own
  fuzz [-seconds N]       every fuzz test for N seconds (5), one after the other
  reset                   removes the data of all instances in .dev, unless one of them runs
  help                    this text

environment:

  LASTSEAT_POSTGRES_URL       a database to use instead of an own one (run)
  LASTSEAT_REDIS_URL          a Redis to use instead of an own one (run)
  LASTSEAT_TEST_POSTGRES_URL  a server to test on, as a user who may create databases (test)
  LASTSEAT_TEST_REDIS_SERVER  the redis-server program the tests start (test)
  LASTSEAT_TEST_POSTGRES_BIN  the folder of the initdb and postgres the tests start, with a server of your own (test)
  LASTSEAT_TEST_PGBOUNCER     the pgbouncer program the tests start (test)
  LASTSEAT_TEST_SOFFICE       LibreOffice's program, which opens our CSV (test)
  LASTSEAT_DEV_INSTALL        what may be done about missing programs: system (Debian's packages are installed, as
                              root), embedded (only what Go modules bring) or no (nothing). Without it, Debian's
                              packages are unpacked into .dev without being installed; else what Go modules bring
  LASTSEAT_LOG_LEVEL=info     a log line for each request (run)
  NO_COLOR                    no colours
`

func main() { proc.Main("dev", run) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	name := "help"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	// Standard output belongs to what a command was asked for: for run that is the
	// log, for the other commands it is not.
	log := stderr
	var command func(context.Context, *stack.Tool, []string) error
	switch name {
	case "run":
		command, log = foreground, stdout
	case "info":
		command = info
	case "rush":
		command = rush.Command
	case "chaos":
		command = chaos.Command
	case "test":
		command = test
	case "fuzz":
		command = fuzz
	case "reset":
		command = reset
	case "help", "-h", "-help", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	default:
		fmt.Fprintf(stderr, "dev: unknown command %q\n\n%s", name, usage)
		return proc.ExitUsage
	}
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	return command(ctx, stack.NewTool(root, getenv, stdout, stderr, log), args)
}

// reset is `dev reset`: the next `dev run` starts without data.
func reset(ctx context.Context, t *stack.Tool, args []string) error {
	if len(args) > 0 {
		fmt.Fprintf(t.Stderr, "dev reset takes no arguments\n\n%s", usage)
		return proc.ExitUsage
	}
	return t.Reset(ctx)
}
