package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// exampleRun is the slug of the seeded run that the curl lines register for.
const exampleRun = "go-last-seat"

// exampleFull is the slug of the seeded run that has no seats.
const exampleFull = "sql-no-seats"

// run is `dev run`: the stack in the foreground, with example courses. Its data stays.
func (t *tool) run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		fmt.Fprintf(t.stderr, "dev run takes no arguments\n\n%s", usage)
		return exitUsage
	}
	return t.foreground(ctx, seed)
}

// foreground runs a stack, filled by fill, until a signal comes or a part of it dies.
func (t *tool) foreground(ctx context.Context, fill func(context.Context, *stack) error) error {
	err := t.withStack(ctx, stackOptions{name: "run", knownPorts: true}, func(ctx context.Context, s *stack) error {
		if err := fill(ctx, s); err != nil {
			return wrap("seeding the example courses", err)
		}
		t.log.block(greeting(s))
		<-ctx.Done()
		return nil
	})
	// A signal is how this command ends. What it interrupted is no failure; a part that died by itself is one.
	if death := (*deathError)(nil); ctx.Err() != nil && !errors.As(err, &death) {
		return nil
	}
	return err
}

// greeting is what the terminal shows when everything is up.
func greeting(s *stack) string {
	return fmt.Sprintf(`
  lastseat is up. Ctrl-C stops all of it.

    API             %[1]s
    mails           %[6]s   nothing leaves this machine
    queues          %[2]s/ops/queues
    metrics         %[2]s/metrics   %[3]s/metrics
    all addresses   %[4]s

  Try:

    curl -s %[1]s/v1/runs
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[5]s/registrations
    curl -s '%[1]s/v1/registrations/ID?wait=10'     # ID: the id in the answer of the second
    curl -i -H 'Content-Type: application/json' -d '{"email": "ada@example.org"}' %[1]s/v1/links     # the links of ada, by mail
    curl -i -H 'Content-Type: application/json' -d '{"name": "Eve", "email": "eve@example.org", "language": "de", "notify": true}' %[1]s/v1/runs/%[8]s/registrations     # "no seat left", by mail, in German
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[9]s/registrations     # all seats are taken: a place on the waiting list
    curl -i -X DELETE -H 'Authorization: Bearer %[7]s' %[1]s/v1/runs/%[9]s/registrations/1     # as an organiser: a seat for whoever has waited longest
    curl -s -H 'Authorization: Bearer %[7]s' %[1]s/v1/runs/%[5]s/mails     # as an organiser

`, s.APIURL, s.APIAdminURL, s.WorkerAdminURL, filepath.Join(s.Folder, stackFile), exampleRun, s.MailURL, s.OrganiserToken, exampleFull, exampleWaitlistRun)
}
