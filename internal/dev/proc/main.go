package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// ExitStatus is an error that has nothing to say: the failure has been printed,
// and the number becomes the exit status.
type ExitStatus int

func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Exit statuses of the tools besides 0 and 1.
const (
	ExitUsage       ExitStatus = 2
	ExitInterrupted ExitStatus = 130
)

// Main is the main function of a tool: it calls run with a context that ends with
// SIGINT or SIGTERM, and exits unless run succeeds.
func Main(name string, run func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal has its default effect: this process dies at once, and on
	// Linux the kernel then tells the children to stop (proc_linux.go).
	context.AfterFunc(ctx, stop)

	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	var status ExitStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// OrInterrupted returns err, or ExitInterrupted if a signal ended the command and
// not the unexpected end of a child.
func OrInterrupted(ctx context.Context, err error) error {
	if end := (*UnexpectedEnd)(nil); ctx.Err() != nil && !errors.As(err, &end) {
		return ExitInterrupted
	}
	return err
}

// PassStatus returns the exit status of a command that failed and has printed
// why, or else err.
func PassStatus(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return ExitStatus(exit.ExitCode())
	}
	return err
}

// ListOf is for flag.FlagSet.Func: it reads words that commas separate, each of
// which must be known. The kind of word appears in the error.
func ListOf(kind string, known []string, into *[]string) func(string) error {
	return func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			if !slices.Contains(known, word) {
				return fmt.Errorf("there is no %s %q", kind, word)
			}
			*into = append(*into, word)
		}
		return nil
	}
}
