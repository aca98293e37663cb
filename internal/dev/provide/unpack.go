package provide

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/filelock"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

//go:embed unpack.sh
var unpackScript string

// unpack fetches the Debian packages of what is missing and unpacks them into our
// folder. It needs no rights and installs nothing. It returns an error if some of
// them cannot be had that way.
func (p Provider) unpack(ctx context.Context, missing []dependency) error {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("without %s, no Debian packages can be fetched", tool)
		}
	}
	lock, err := filelock.Await(ctx, filepath.Join(p.folder(), "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()

	var failures []error
	for _, d := range missing {
		if d.programs == "" {
			failures = append(failures, fmt.Errorf("%s works only where it is installed", d.name))
			continue
		}
		if err := p.unpackOne(ctx, d); err != nil {
			failures = append(failures, err)
		}
	}
	_ = os.RemoveAll(filepath.Join(p.folder(), "apt")) // lists of all packages, which age
	return errors.Join(failures...)
}

func (p Provider) unpackOne(ctx context.Context, d dependency) error {
	// Another process may have fetched it while this one waited for the lock.
	if there, _ := filepath.Glob(filepath.Join(p.folder(), d.debian, "bin")); len(there) > 0 {
		return nil
	}
	p.Log.Printf("%s: fetching Debian's %s, with all it depends on, into %s; nothing is installed", d.name, d.debian, p.folder())
	out := p.Log.Lines("apt")
	err := proc.Run(ctx, proc.Command{
		Name: "fetching Debian's " + d.debian, Dir: "/", Stdout: out, Stderr: out,
		Args: append([]string{"sh", "-c", unpackScript, "unpack.sh", p.folder(), d.debian, d.programs}, strings.Fields(d.debian)...),
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("fetching Debian's %s failed, see above (%w)", d.debian, err)
	}
	return nil
}
