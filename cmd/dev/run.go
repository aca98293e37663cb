package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// exampleRun is the slug of the seeded run that the curl lines register for.
const exampleRun = "go-last-seat"

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
    queues          %[2]s/ops/queues
    metrics         %[2]s/metrics   %[3]s/metrics
    all addresses   %[4]s

  Try:

    curl -s %[1]s/v1/runs
    curl -i -H 'Content-Type: application/json' -d '{"name": "Ada", "email": "ada@example.org"}' %[1]s/v1/runs/%[5]s/registrations
    curl -s '%[1]s/v1/registrations/ID?wait=10'     # ID: the id in the answer of the second

`, s.APIURL, s.APIAdminURL, s.WorkerAdminURL, filepath.Join(s.Folder, stackFile), exampleRun)
}
