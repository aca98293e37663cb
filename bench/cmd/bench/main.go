// Command bench measures Lastseat beside other answers and other commits. It is
// never part of a deployment.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lastseat/lastseat/bench/harness"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

const usage = `bench measures lastseat on this machine.

usage: bench <command> [arguments]

  measure [-cases IDS] [-rivals NAMES] [-rounds N] [-quick] [-json]
                          lastseat and the other answers, one after the other on the same services; -quick is a smoke
                          run
  against -commit COMMIT [-rounds N] [-people N] [-seats N] [-json]
                          the same rush on this tree and on another commit, in turns (10 rounds), each on a database
                          of its own; the medians, and how much CPU time a seated person takes in comparison
  oversell                the usual answers to the question of the last seat, and then lastseat, asked by as many people
  help                    this text

The environment is that of dev: see "dev help".
`

func main() { proc.Main("bench", run) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	name := "help"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	var command func(context.Context, *stack.Tool, []string) error
	switch name {
	case "measure":
		command = harness.Measure
	case "against":
		command = harness.Against
	case "oversell":
		command = harness.Oversell
	case "help", "-h", "-help", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	default:
		fmt.Fprintf(stderr, "bench: unknown command %q\n\n%s", name, usage)
		return proc.ExitUsage
	}
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	return command(ctx, stack.NewTool(root, getenv, stdout, stderr, stderr), args)
}
