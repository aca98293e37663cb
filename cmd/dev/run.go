package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// foreground is `dev run`: the stack in the foreground, with example courses. Its
// data stays.
func foreground(ctx context.Context, t *stack.Tool, args []string) error {
	o := stack.Options{Name: "run", KnownPorts: true, Simulation: true}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.Port, "port", 0, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || o.Port < 0 || o.Port > stack.LastPort {
		fmt.Fprintf(t.Stderr, "dev run takes -port (PORT) from 1 to %d and nothing else\n\n%s", stack.LastPort, usage)
		return proc.ExitUsage
	}
	if t.Getenv("LASTSEAT_LOG_LEVEL") == "" {
		o.Env = []string{"LASTSEAT_LOG_LEVEL=warn"} // the summaries tell what happens
	}
	return runUntilSignal(ctx, t, o, seed)
}

// runUntilSignal runs a stack, filled by fill, until a signal comes or a part of
// the stack ends unasked. Fill returns an API token to show.
func runUntilSignal(
	ctx context.Context, t *stack.Tool, o stack.Options, fill func(context.Context, *stack.Stack) (token string, err error),
) error {
	err := t.Run(ctx, o, func(ctx context.Context, s *stack.Stack) error {
		var err error
		if s.Token, err = fill(ctx, s); err != nil {
			return fmt.Errorf("seeding the example courses: %w", err)
		}
		if err := s.Publish(); err != nil {
			return err
		}
		t.Log.Print(greeting(s))
		summarise(ctx, t.Log, s)
		<-ctx.Done()
		return nil
	})
	// A signal is how this command ends, so what it interrupted is no failure. The
	// unexpected end of a part is one.
	if end := (*proc.UnexpectedEnd)(nil); ctx.Err() != nil && !errors.As(err, &end) {
		return nil
	}
	return err
}

// info is `dev info`: what `dev run` said when it was up.
func info(_ context.Context, t *stack.Tool, args []string) error {
	if len(args) > 0 {
		fmt.Fprintf(t.Stderr, "dev info takes no arguments\n\n%s", usage)
		return proc.ExitUsage
	}
	s, err := stack.Running(t.Root, "run")
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(t.Stderr, "Lastseat is not running here. `make run` starts it.")
		return proc.ExitStatus(1)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(t.Stdout, greeting(s))
	return nil
}

// greeting is what the terminal shows once everything is up.
func greeting(s *stack.Stack) string {
	return fmt.Sprintf(`
  Lastseat is up. Ctrl-C stops all of it; make info prints this again.

    API               %[1]s
    mails             %[6]s   nothing leaves this machine
    queues            %[2]s/ops/queues
    metrics           %[2]s/metrics   %[3]s/metrics
    API token         %[7]s   of admin@example.org, for a day
    Postgres          %[10]s
    Redis             %[11]s
    all addresses     %[4]s

  Try, in another terminal (with curl):

    curl -s %[1]s/v1/runs
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[5]s/registrations
    curl -s '%[1]s/v1/registrations/ID?wait=10'     # ID: the id in the answer of the second
    curl -i -H 'Content-Type: application/json' -d '{"email": "ada@example.org"}' %[1]s/v1/links     # the links of ada, by mail
    curl -i -H 'Content-Type: application/json' -d '{"name": "Eve", "email": "eve@example.org", "language": "de", "notify": true}' %[1]s/v1/runs/%[8]s/registrations     # "no seat left", by mail, in German
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[9]s/registrations     # all seats are taken: a place on the waiting list
    curl -i -X DELETE -H 'Authorization: Bearer %[7]s' %[1]s/v1/runs/%[9]s/registrations/1     # as an organiser: a seat for the person who has waited longest
    curl -s -H 'Authorization: Bearer %[7]s' %[1]s/v1/runs/%[5]s/mails     # as an organiser

`, s.APIURL, s.APIAdminURL, s.WorkerAdminURL, s.File(), exampleRun, s.MailURL, s.Token, exampleFull, exampleWaitlistRun,
		s.PostgresURL, s.RedisURL)
}
