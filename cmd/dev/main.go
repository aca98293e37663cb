// Command dev is the developer's tool: it brings up the whole of lastseat on one machine and takes it down again.
// It owns everything below .dev/ in the module's root. It is never part of a deployment, and it knows nothing of
// the domain: what it starts are the same programs with the same environment variables as anywhere else.
//
//	main.go       subcommands, exit codes
//	run.go        dev run: the stack in the foreground
//	rush.go       dev rush: the last-seat race. The people: rush_load.go, rush_click.go, rush_cancel.go and
//	              rush_quiet.go. The check: rush_ledger.go (what is written), rush_replay.go (what belongs),
//	              rush_judge.go, rush_told.go, rush_mail.go; rush_verdict.go: what is printed
//	chaos.go      dev chaos: everything breaks. chaos_site.go (what is there to break), chaos_strike.go (when),
//	              chaos_fault.go (how: programs, networks, the mail server), chaos_redis.go, chaos_task.go,
//	              chaos_postgres.go, chaos_disk.go, chaos_clock.go, chaos_organiser.go, chaos_people.go (who
//	              suffers), chaos_watch.go, chaos_quiet.go, chaos_judge.go, chaos_letters.go, chaos_told.go and
//	              chaos_verdict.go
//	oversell.go   dev oversell: the usual answers beside this one
//	bench.go      dev bench: the same as a measurement. bench_cases.go: what is measured; bench_arena.go: on what;
//	              bench_cell.go: one contender, once; bench_lastseat.go and bench_rival.go: the contenders' processes;
//	              meter.go: CPU time
//	against.go    dev bench-against: this tree and another commit. against_edition.go: how they are built and
//	              judged; against_report.go: what is printed
//	seed.go       the example courses and runs
//	test.go       dev test: go test on services of its own
//	fuzz.go       dev fuzz: every fuzz test for some seconds
//	stack.go      build, migrate, api and worker on top of the services
//	sink.go       the mail server of a stack
//	services.go   Postgres and Redis: given by the environment, or own
//	service.go    one of our own, which can be started again
//	postgres.go   a Postgres of our own
//	cluster.go    its data folder; account.go: whose that is; leftover.go: what a dirty stop left on it
//	redis.go      a Redis of our own
//	binaries.go   where the programs are; install.go: how they get there
//	folder.go     .dev/<instance>, claimed by a lock
//	process.go    one child process, and the family of all of them
//	console.go    prefixed output
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `dev runs lastseat on this machine.

usage: dev <command> [arguments]

  run                     Postgres, Redis, API, worker and a mail sink in the foreground, with example courses; Ctrl-C
                          stops it all
  rush [-people N] [-seats N] [-waitlist N] [-cancel SHARE] [-json]
                          the last-seat race on the stack that runs, or on one of its own, with a verdict; -waitlist
                          is the places on the waiting list (0 = none, all = any number), -cancel the share (0 to 1)
                          of those with a seat or a place who cancel meanwhile
  chaos [-seconds N] [-seed N] [-faults KINDS] [-json]
                          people ask, cancel and wait while programs, services and connections are killed, frozen, cut
                          and restarted for so long; then everything is healed and every promise is checked. The same
                          seed breaks the same things; -faults is the kinds of faults to make, all if it is empty
  oversell                the usual answers to the question of the last seat, and then lastseat, before the same crowd
  bench [-cases IDS] [-rounds N] [-quick] [-json]
                          lastseat and the other answers, measured one after the other on the same services; -quick is
                          a smoke run
  bench-against -commit COMMIT [-rounds N] [-people N] [-seats N] [-json]
                          the same rush on this tree and on another commit, in turns (10 rounds), each on a database
                          of its own; the medians, and how much CPU time a seated person takes in comparison
  test [go test args]     the whole suite with -race -shuffle=on on a Postgres of its own
  fuzz [-seconds N]       every fuzz test for N seconds (5), one after the other
  help                    this text

environment:
  LASTSEAT_POSTGRES_URL       a database to use instead of an own one (run)
  LASTSEAT_REDIS_URL          a Redis to use instead of an own one (run)
  LASTSEAT_TEST_POSTGRES_URL  a server to test on, as a user who may create databases (test)
  LASTSEAT_TEST_REDIS_SERVER  the redis-server program the tests start (test)
  LASTSEAT_TEST_POSTGRES_BIN  the folder of the initdb and postgres the tests start, with a server of your own (test)
  LASTSEAT_TEST_PGBOUNCER     the pgbouncer program the tests start (test)
  LASTSEAT_TEST_SOFFICE       LibreOffice's program, which opens our CSV (test)
  LASTSEAT_DEV_INSTALL=no     never install Debian packages
  NO_COLOR                    no colours
`

// tool is what every subcommand works with.
type tool struct {
	root   string // the module's root, symbolic links resolved
	getenv func(string) string
	stdout io.Writer
	stderr io.Writer
	log    *console // what the tool itself says, and the lines of its children
}

// exitStatus is an error that says nothing more: what failed has spoken for itself, and the number is passed on.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit statuses of this program beside 0 and 1.
const (
	exitUsage       exitStatus = 2
	exitInterrupted exitStatus = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal has its default effect: this process dies at once, and on Linux the kernel then tells the
	// children to stop (process_linux.go).
	context.AfterFunc(ctx, stop)

	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	var status exitStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	command := "help"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}

	var do func(*tool, context.Context, []string) error
	switch command {
	case "run":
		do = (*tool).run
	case "rush":
		do = (*tool).rush
	case "chaos":
		do = (*tool).chaos
	case "bench":
		do = (*tool).bench
	case "bench-against":
		do = (*tool).benchAgainst
	case "oversell":
		do = (*tool).oversell
	case "test":
		do = (*tool).test
	case "fuzz":
		do = (*tool).fuzz
	case "help", "-h", "-help", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	default:
		fmt.Fprintf(stderr, "dev: unknown command %q\n\n%s", command, usage)
		return exitUsage
	}

	root, err := moduleRoot()
	if err != nil {
		return err
	}
	// Standard output belongs to what a command is asked for: for run that is the log, for the others it is not.
	log := newConsole(stderr, getenv)
	if command == "run" {
		log = newConsole(stdout, getenv)
	}
	return do(&tool{root: root, getenv: getenv, stdout: stdout, stderr: stderr, log: log}, ctx, args)
}
