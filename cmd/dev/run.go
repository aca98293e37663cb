package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// foreground is `dev run`: the stack in the foreground, with example courses. Its
// data stays.
func foreground(ctx context.Context, t *stack.Tool, args []string) error {
	if len(args) > 0 {
		fmt.Fprintf(t.Stderr, "dev run takes no arguments\n\n%s", usage)
		return proc.ExitUsage
	}
	return runUntilSignal(ctx, t, seed)
}

// runUntilSignal runs a stack, filled by fill, until a signal comes or a part of
// the stack ends unasked. Fill returns an API token to show.
func runUntilSignal(ctx context.Context, t *stack.Tool, fill func(context.Context, *stack.Stack) (token string, err error)) error {
	err := t.Run(ctx, stack.Options{Name: "run", KnownPorts: true}, func(ctx context.Context, s *stack.Stack) error {
		token, err := fill(ctx, s)
		if err != nil {
			return fmt.Errorf("seeding the example courses: %w", err)
		}
		t.Log.Print(greeting(s, token))
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

// greeting is what the terminal shows once everything is up.
func greeting(s *stack.Stack, token string) string {
	return fmt.Sprintf(`
  lastseat is up. Ctrl-C stops all of it.

    API             %[1]s
    mails           %[6]s   nothing leaves this machine
    queues          %[2]s/ops/queues
    metrics         %[2]s/metrics   %[3]s/metrics
    all addresses   %[4]s
    API token       %[7]s   of admin@example.org, for a day

  Try:

    curl -s %[1]s/v1/runs
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[5]s/registrations
    curl -s '%[1]s/v1/registrations/ID?wait=10'     # ID: the id in the answer of the second
    curl -i -H 'Content-Type: application/json' -d '{"email": "ada@example.org"}' %[1]s/v1/links     # the links of ada, by mail
    curl -i -H 'Content-Type: application/json' -d '{"name": "Eve", "email": "eve@example.org", "language": "de", "notify": true}' %[1]s/v1/runs/%[8]s/registrations     # "no seat left", by mail, in German
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[9]s/registrations     # all seats are taken: a place on the waiting list
    curl -i -X DELETE -H 'Authorization: Bearer %[7]s' %[1]s/v1/runs/%[9]s/registrations/1     # as an organiser: a seat for the person who has waited longest
    curl -s -H 'Authorization: Bearer %[7]s' %[1]s/v1/runs/%[5]s/mails     # as an organiser

`, s.APIURL, s.APIAdminURL, s.WorkerAdminURL, s.File(), exampleRun, s.MailURL, token, exampleFull, exampleWaitlistRun)
}
