package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// binDir is the folder of the built programs, below the module's root.
const binDir = ".dev/bin"

// build builds the packages into binDir and reports its progress every four
// seconds. The programs are built in another folder first: the old ones may be
// running, or another start may be building the same.
func build(ctx context.Context, log *proc.Console, root string, packages []string) error {
	if err := os.MkdirAll(filepath.Join(root, binDir), 0o755); err != nil {
		return err
	}
	removeOld(filepath.Join(root, binDir))
	scratch, err := os.MkdirTemp(filepath.Join(root, binDir), "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()

	p := &progress{began: time.Now(), errors: log.Lines("go")}
	stop := log.Progress(ctx, 4*time.Second, p.status)
	err = proc.Run(ctx, proc.Command{
		Name: "go build", Dir: root, Env: append(os.Environ(), "CGO_ENABLED=0"),
		Stdout: p, Stderr: p, StopSignal: syscall.SIGINT,
		// Without -buildvcs=false, the build fails where git does not trust the folder, as
		// for root in another user's tree.
		Args: append([]string{"go", "build", "-v", "-buildvcs=false", "-o", scratch + "/"}, packages...),
	})
	p.ended.Store(true)
	stop()
	if err != nil {
		return err
	}
	for _, name := range packages {
		name = filepath.Base(name)
		if err := os.Rename(filepath.Join(scratch, name), filepath.Join(root, binDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeOld removes what builds left behind that were killed.
func removeOld(dir string) {
	folders, _ := filepath.Glob(filepath.Join(dir, "new-*")) // the pattern is well-formed
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(folder)
		}
	}
}

// progress counts what `go build -v` prints: a line for each module that it
// downloads and each package that it compiles. Everything else is an error.
type progress struct {
	began    time.Time
	modules  atomic.Int64
	packages atomic.Int64
	ended    atomic.Bool
	errors   *proc.LineWriter
	rest     []byte // the beginning of a line; only Write uses it
}

// Write never fails.
func (p *progress) Write(b []byte) (int, error) {
	n := len(b)
	p.rest = append(p.rest, b...)
	for {
		line, rest, ended := bytes.Cut(p.rest, []byte{'\n'})
		if !ended {
			return n, nil
		}
		p.rest = append([]byte(nil), rest...)
		switch text := string(line); {
		case strings.HasPrefix(text, "go: downloading "):
			p.modules.Add(1)
		case text != "" && !strings.ContainsAny(text, " :\t"):
			p.packages.Add(1)
		default:
			fmt.Fprintln(p.errors, text)
		}
	}
}

// status says how far the build is; nothing if it took no time worth a line.
func (p *progress) status() string {
	took := time.Since(p.began)
	modules, packages := p.modules.Load(), p.packages.Load()
	if took < time.Second || p.ended.Load() && packages == 0 {
		return ""
	}
	text := fmt.Sprintf("building: %d packages compiled", packages)
	if modules > 0 {
		text += fmt.Sprintf(", %d modules downloaded", modules)
	}
	if p.ended.Load() {
		text = strings.Replace(text, "building:", "built:", 1)
	}
	return fmt.Sprintf("%s, %d s", text, int(took.Seconds()))
}
