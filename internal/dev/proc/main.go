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
	"strconv"
	"strings"
	"syscall"
	"time"
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
	// A second signal has its default effect: this process dies at once, and its
	// watchdog stops the children.
	context.AfterFunc(ctx, stop)
	ctx = endWithMake(ctx)

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

// makeVariable holds the number of the make that has started this process, if one
// has: make does not tell its commands that it was killed.
const makeVariable = "LASTSEAT_DEV_MAKE"

// endWithMake returns a context that also ends with the make that has started this
// process. Two seconds later the process ends, in whatever state it is then.
func endWithMake(ctx context.Context) context.Context {
	maker, err := strconv.Atoi(os.Getenv(makeVariable))
	_ = os.Unsetenv(makeVariable) // it is not the make of our children
	if err != nil {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for os.Getppid() == maker {
			time.Sleep(200 * time.Millisecond)
		}
		cancel()
		time.Sleep(2 * time.Second)
		os.Exit(int(ExitInterrupted))
	}()
	return ctx
}

// Become replaces this process, which make has started, by another program that
// ends with the same make. It returns only an error.
func Become(program string, args, env []string) error {
	env = append(env, makeVariable+"="+strconv.Itoa(os.Getppid()))
	return fmt.Errorf("starting %s: %w", program, syscall.Exec(program, append([]string{program}, args...), env))
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
