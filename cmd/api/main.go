// Command api serves the HTTP API: it accepts requests into the lines and
// answers where they stand. It also migrates the database and runs the doctor.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/ops"
	"github.com/lastseat/lastseat/internal/postgres"
)

const usage = `usage: api [-config FILE] [serve | migrate | account | token | audit |
                           doctor | healthcheck]

  serve        serve the HTTP API until SIGTERM or SIGINT (the default)
  migrate      bring the database schema up to date
  account      manage the accounts of organisers
                 add --email E --name N [--language en|de] [--role R [--course C]]
                 list
                 grant --email E --role R [--course C]
                 revoke --email E [--course C]
                 disable --email E, enable --email E
               R is admin, organiser or door. C is the slug of a course; without
               it, the role is for all courses
  token        manage the API tokens of an account
                 add --email E --name N [--days D] [--read-only] [--courses C,C]
                     writes the token, which is shown only once
                 list --email E
                 revoke --email E --id ID
  audit        prune --days D   remove the entries that are older than D days, 30
                                or more
  doctor       check the ledger and report what is wrong. Without --repair, it
               takes no locks and writes nothing
                 --run SLUG  check only this run
                 --repair    correct counters, and line heads that lag behind
                 --json      report as one JSON object
               Exits with 0 if nothing is wrong, with 3 if something is (or
               still is after --repair), and with 1 if it could not check
               everything
  healthcheck  exit with 0 if the api with this configuration is ready

Settings are read from FILE (default $LASTSEAT_CONFIG). Environment variables
override them. configs/lastseat.yaml explains every setting.
`

var errUsage = errors.New("usage")

func main() {
	ctx, stop := ops.StopSignals()
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout)
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case errors.Is(err, errWrong): // the report says what
		os.Exit(3)
	case err != nil:
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args, environ []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("api", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("config", config.FileFrom(environ), "")
	err := flags.Parse(args)
	command := flags.Arg(0)
	var asked doctorFlags
	var do action
	switch {
	case err != nil:
	case command == "account":
		do, err = parseAccount(flags.Args()[1:])
	case command == "token":
		do, err = parseToken(flags.Args()[1:])
	case command == "audit":
		do, err = parseAudit(flags.Args()[1:])
	case command == "doctor":
		asked, err = parseDoctor(flags.Args()[1:])
	case flags.NArg() > 1 || !slices.Contains([]string{"", "serve", "migrate", "healthcheck"}, command):
		err = errUsage
	}
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(stdout, usage)
		return err
	} else if err != nil {
		return errUsage
	}
	c, err := config.Load(*file, environ)
	if err != nil && asked.json {
		return errors.Join(err, writeJSON(stdout, doctor.Report{}, err))
	} else if err != nil {
		return err
	}
	if do != nil {
		return manage(ctx, c, do, stdout)
	}
	ops.SpareCollector(environ)
	log, err := ops.NewLogger(stdout, c.Log.Format, c.Log.Level)
	if err != nil {
		return err
	}
	switch command {
	case "migrate":
		return migrate(ctx, c, log)
	case "doctor":
		return examine(ctx, c, asked, stdout)
	case "healthcheck":
		return ops.AskReady(ctx, c.API.AdminListen)
	default:
		return serve(ctx, c, log)
	}
}

func migrate(ctx context.Context, c config.Config, log *slog.Logger) error {
	start := time.Now()
	done, err := postgres.Migrate(ctx, string(c.Postgres.LockURL), options(c, 1))
	if err != nil {
		return err
	}
	log.Info("the schema is up to date", "applied", done, "took", time.Since(start))
	return nil
}

// options returns the database options for a pool with this many connections.
func options(c config.Config, conns int) postgres.Options {
	return postgres.Options{
		Name:                     "api",
		MaxConns:                 conns,
		ConnectTimeout:           c.Postgres.ConnectTimeout,
		StatementTimeout:         c.Postgres.StatementTimeout,
		LockTimeout:              c.Postgres.LockTimeout,
		IdleInTransactionTimeout: c.Postgres.IdleInTransactionTimeout,
		Unprepared:               !c.Postgres.PreparedStatements,
	}
}
