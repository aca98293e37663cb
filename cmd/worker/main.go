// Command worker serves lanes: it settles the lines of the runs that have work,
// in ticket order. It also ends waiting lists and sends the mails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/ops"
)

const usage = `usage: worker [-config FILE] [serve | healthcheck]

  serve        settle lines and send mail until SIGTERM or SIGINT (the default)
  healthcheck  exit with 0 if the worker with this configuration is ready

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
	case err != nil:
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args, environ []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("config", config.FileFrom(environ), "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(stdout, usage)
		return err
	} else if err != nil || flags.NArg() > 1 {
		return errUsage
	}
	command := flags.Arg(0)
	switch command {
	case "", "serve", "healthcheck":
	default:
		return errUsage
	}
	c, err := config.Load(*file, environ)
	if err != nil {
		return err
	}
	ops.SpareCollector(environ)
	log, err := ops.NewLogger(stdout, c.Log.Format, c.Log.Level)
	if err != nil {
		return err
	}
	if command == "healthcheck" {
		return ops.AskReady(ctx, c.Worker.AdminListen)
	}
	return serve(ctx, c, log)
}
