package provide

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/dev/filelock"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

//go:embed install.sh
var installScript string

// install installs what is missing from Debian's packages.
func (p Provider) install(ctx context.Context, missing []dependency) error {
	var packages []string
	for _, d := range missing {
		packages = append(packages, strings.Fields(d.debian)...)
	}
	root, err := p.installer(ctx)
	if err != nil {
		return err
	}

	// One installation at a time. After waiting for another one, apt-get finds nothing
	// left to do.
	lock, err := filelock.Await(ctx, filepath.Join(p.Root, ".dev", "install.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()

	p.Log.Printf("this machine lacks %s", names(missing))
	p.Log.Printf("installing Debian's packages: %sapt-get update; apt-get install %s", strings.Join(append(root, ""), " "), strings.Join(packages, " "))
	p.Log.Printf("none of their services is started or enabled")
	out := p.Log.Lines("apt")
	args := append(slices.Clone(root), "sh", "-c", installScript, "install.sh")
	quiet := context.AfterFunc(ctx, func() { p.Log.Printf("stopping; an installation that has begun is finished first") })
	defer quiet()
	err = proc.Run(ctx, proc.Command{
		Name: "the installation", Args: append(args, packages...), Dir: "/", Stdout: out, Stderr: out,
		Grace: 15 * time.Minute, Finishes: true, // a package manager that is stopped half-way leaves a mess
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("installing Debian's packages failed, see above (%w)", err)
	}
	return nil
}

// installer returns the words that make a command run as root, or why nothing can
// be installed here.
func (p Provider) installer(ctx context.Context) ([]string, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, errors.New("only Debian's packages can be installed, and this machine has no apt-get")
	}
	if os.Geteuid() == 0 {
		return nil, nil
	}
	if exec.CommandContext(ctx, "sudo", "-n", "true").Run() != nil {
		return nil, errors.New("installing packages takes root, or sudo without a password")
	}
	return []string{"sudo", "-n"}, nil
}
