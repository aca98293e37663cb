package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lastseat/lastseat/bench/report"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// build is a build of Lastseat: this tree's or another commit's.
type build struct {
	name     string
	programs string // the folder of its api and worker
	template string // the database that its trials begin with, migrated by its own api
	foreign  bool   // it is another commit's
}

// tree returns this tree's build.
func (b *testbed) tree() build {
	return build{name: "this tree", programs: b.folder.Join("bin"), template: b.template()}
}

// buildCommit builds a commit and makes its template.
func (b *testbed) buildCommit(ctx context.Context, commit string) (build, error) {
	hash, programs, err := buildCommit(ctx, b.tool, b.folder.Join("commit"), commit)
	if err != nil {
		return build{}, err
	}
	of := build{name: hash, programs: programs, template: b.name + "_commit", foreign: true}
	return of, b.makeTemplate(ctx, of)
}

// buildCommit builds the programs of a commit from a copy of its files below
// folder. It returns the commit's short hash and the folder of the programs.
func buildCommit(ctx context.Context, t *stack.Tool, folder, commit string) (hash, programs string, err error) {
	if hash, err = git(ctx, t, "rev-parse", "--verify", "--quiet", "--short", "--end-of-options", commit+"^{commit}"); err != nil {
		return "", "", fmt.Errorf("there is no commit %q: %w", commit, err)
	}
	t.Log.Printf("building api and worker of %s", hash)
	source := filepath.Join(folder, "source")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return "", "", err
	}
	// A git worktree would need a writable repository, which would remember the
	// worktree of a bench that was killed.
	archive := filepath.Join(folder, "source.tar")
	if _, err := git(ctx, t, "archive", "--format=tar", "--output="+archive, hash); err != nil {
		return "", "", fmt.Errorf("reading commit %s: %w", hash, err)
	}
	if _, err := output(ctx, t, "tar", "-xf", archive, "-C", source); err != nil {
		return "", "", fmt.Errorf("unpacking commit %s: %w", hash, err)
	}
	programs = filepath.Join(folder, "bin")
	if err := t.BuildIn(ctx, source, programs); err != nil {
		return "", "", fmt.Errorf("commit %s: %w", hash, err)
	}
	return hash, programs, nil
}

// makeTemplate makes the database that the trials of a build begin with.
func (b *testbed) makeTemplate(ctx context.Context, of build) error {
	if err := b.create(ctx, of.template, ""); err != nil {
		return err
	}
	o := stack.Options{Programs: of.programs, Foreign: of.foreign}
	if err := b.programs.Migrate(ctx, b.folder, b.stack(of.template), o); err != nil {
		return b.withLog(err)
	}
	return nil
}

// git runs git on this tree and returns its output.
func git(ctx context.Context, t *stack.Tool, args ...string) (string, error) {
	// The tree may belong to another user. Building it trusts it already.
	return output(ctx, t, append([]string{"git", "-c", "safe.directory=*", "-C", t.Root}, args...)...)
}

// output runs a program to its end and returns its output.
func output(ctx context.Context, t *stack.Tool, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	err := proc.Run(ctx, proc.Command{Name: args[0], Args: args, Dir: t.Root, Stdout: &stdout, Stderr: &stderr, StopSignal: syscall.SIGINT})
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return strings.TrimSpace(stdout.String()), err
}

// judgedByItself is Lastseat that is judged by its own doctor, since this tree's
// does not know another commit's schema.
type judgedByItself struct {
	*lastseat
	doctor func(context.Context) (string, error)
}

func (l judgedByItself) judge(ctx context.Context, told map[int]int, sample report.Sample) (last time.Time, err error) {
	if last, err = l.readDecisions(ctx, told, sample, "", 0); err != nil {
		return last, err
	}
	if text, err := l.doctor(ctx); err != nil {
		return last, errors.Join(fmt.Errorf("its doctor: %w", err), errors.New(text))
	}
	return last, nil
}

// trialOfBuild measures a build once.
func (b *testbed) trialOfBuild(ctx context.Context, of build, w workload) (s report.Sample, err error) {
	err = b.withBuild(ctx, of, w.runList(), func(ctx context.Context, l *lastseat) error {
		doctor := func(ctx context.Context) (string, error) {
			return output(ctx, b.tool, "env", "LASTSEAT_POSTGRES_URL="+l.url, filepath.Join(of.programs, "api"), "doctor")
		}
		s, err = b.trial(ctx, judgedByItself{l, doctor}, w)
		return err
	})
	return s, err
}
