package main

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
)

// edition is a build of Lastseat: this tree's or another commit's.
type edition struct {
	name     string
	programs string // the folder of its api and its worker
	template string // the database that its runs begin with, as its own api migrates one
	another  bool   // it is of another commit
}

// tree is what was built of this tree.
func (a *arena) tree() edition {
	return edition{name: "this tree", programs: a.f.join("bin"), template: a.template()}
}

// commit builds a commit and makes its template.
func (a *arena) commit(ctx context.Context, commit string) (edition, error) {
	hash, programs, err := a.t.buildCommit(ctx, a.f.join("commit"), commit)
	if err != nil {
		return edition{}, err
	}
	e := edition{name: hash, programs: programs, template: a.name + "_commit", another: true}
	return e, a.makeTemplate(ctx, e)
}

// buildCommit builds the programs of a commit from a copy of its files below
// folder. It returns the commit as git shortens it and where the programs are.
func (t *tool) buildCommit(ctx context.Context, folder, commit string) (hash, programs string, err error) {
	if hash, err = t.git(ctx, "rev-parse", "--verify", "--quiet", "--short", "--end-of-options", commit+"^{commit}"); err != nil {
		return "", "", fmt.Errorf("there is no commit %q: %w", commit, err)
	}
	t.log.printf("building api and worker of %s", hash)
	source := filepath.Join(folder, "source")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return "", "", err
	}
	// A git worktree would need a repository that is writable, and the repository
	// would remember the one of a bench that was killed.
	archive := filepath.Join(folder, "source.tar")
	if _, err := t.git(ctx, "archive", "--format=tar", "--output="+archive, hash); err != nil {
		return "", "", wrap("reading commit "+hash, err)
	}
	if _, err := t.output(ctx, "tar", "-xf", archive, "-C", source); err != nil {
		return "", "", wrap("unpacking commit "+hash, err)
	}
	programs = filepath.Join(folder, "bin")
	return hash, programs, wrap("commit "+hash, t.buildIn(ctx, source, programs))
}

// makeTemplate makes the database that the runs of an edition begin with.
func (a *arena) makeTemplate(ctx context.Context, e edition) error {
	if err := a.create(ctx, e.template, ""); err != nil {
		return err
	}
	err := a.quiet.migrate(ctx, a.f, a.stack(e.template), stackOptions{programs: e.programs, another: e.another})
	if err != nil {
		return a.withWords(err)
	}
	return nil
}

// git runs git on this tree and returns what it says.
func (t *tool) git(ctx context.Context, args ...string) (string, error) {
	// The tree may belong to another user. Building it trusts it already.
	return t.output(ctx, append([]string{"git", "-c", "safe.directory=*", "-C", t.root}, args...)...)
}

// output runs a program to its end and returns what it says.
func (t *tool) output(ctx context.Context, args ...string) (string, error) {
	var said, complained bytes.Buffer
	err := runProcess(ctx, command{name: args[0], args: args, dir: t.root, stdout: &said, stderr: &complained, stop: syscall.SIGINT})
	if text := strings.TrimSpace(complained.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return strings.TrimSpace(said.String()), err
}

// judgedByItself is Lastseat on a stage, of which its own doctor says whether all
// is right: this tree's does not know another commit's schema.
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

// rushOn measures one rush on an edition of Lastseat.
func (a *arena) rushOn(ctx context.Context, e edition, r rushOf) (s report.Sample, err error) {
	err = a.withEdition(ctx, e, r.runsOf(), func(ctx context.Context, l *lastseat) error {
		doctor := func(ctx context.Context) (string, error) {
			return a.t.output(ctx, "env", "LASTSEAT_POSTGRES_URL="+l.url, filepath.Join(e.programs, "api"), "doctor")
		}
		s, err = a.cell(ctx, judgedByItself{l, doctor}, r)
		return err
	})
	return s, err
}
