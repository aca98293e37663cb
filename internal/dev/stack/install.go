package stack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

//go:embed install.sh
var installScript string

// dependency is another project's program and how you get it.
type dependency struct {
	name   string
	debian string // packages
	fedora string
	brew   string
	env    string // what to set instead, with an example

	optional bool // the tool works without it
}

var (
	postgresPackage = dependency{
		name: "PostgreSQL 15 or newer", debian: "postgresql", fedora: "postgresql-server", brew: "postgresql@17",
		env: "LASTSEAT_POSTGRES_URL=postgres://user:password@host:5432/database   (dev test: LASTSEAT_TEST_POSTGRES_URL)",
	}
	redisPackage = dependency{
		name: "Redis 6.2 or newer", debian: "redis-server", fedora: "valkey", brew: "redis",
		env: "LASTSEAT_REDIS_URL=redis://host:6379/0   (dev test needs the program itself)",
	}
	pgbouncerPackage = dependency{
		name: "pgbouncer", debian: "pgbouncer", fedora: "pgbouncer", brew: "pgbouncer",
		env: "LASTSEAT_TEST_PGBOUNCER=/path/to/pgbouncer   (dev test needs the program itself)",
	}
	compilerPackage = dependency{
		name: "a C compiler for go test -race", debian: "gcc libc6-dev", fedora: "gcc", brew: "gcc",
		env: "CGO_ENABLED=0   (tests then run without -race)", optional: true,
	}
	officePackage = dependency{
		name: "LibreOffice Calc", debian: "libreoffice-calc", fedora: "libreoffice-calc", brew: "--cask libreoffice",
		env: "LASTSEAT_TEST_SOFFICE=/path/to/soffice   (else the test that opens our CSV in a spreadsheet fails)", optional: true,
	}
)

// install installs what is missing from Debian's packages, or returns an error
// that says precisely what to do.
func (t *Tool) install(ctx context.Context, missing []dependency) error {
	var packages []string
	for _, d := range missing {
		packages = append(packages, strings.Fields(d.debian)...)
	}
	root, err := t.installer(ctx)
	if err != nil {
		return errors.New(advice(missing, err))
	}

	// One installation at a time. After waiting for another one, apt-get finds nothing
	// left to do.
	lock, err := awaitLock(ctx, t.dotDev("install.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()

	t.Log.Printf("this machine lacks %s", names(missing))
	t.Log.Printf("installing Debian's packages: %sapt-get update; apt-get install %s", strings.Join(append(root, ""), " "), strings.Join(packages, " "))
	t.Log.Printf("none of their services is started or enabled; LASTSEAT_DEV_INSTALL=no forbids this")
	out := t.Log.Lines("apt")
	args := append(slices.Clone(root), "sh", "-c", installScript, "install.sh")
	quiet := context.AfterFunc(ctx, func() { t.Log.Printf("stopping; an installation that has begun is finished first") })
	defer quiet()
	err = proc.Run(ctx, proc.Command{
		Name: "the installation", Args: append(args, packages...), Dir: "/", Stdout: out, Stderr: out,
		Grace: 15 * time.Minute, Finishes: true, // a package manager that is stopped half-way leaves a mess
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return errors.New(advice(missing, fmt.Errorf("installing Debian's packages failed, see above (%w)", err)))
	}
	return nil
}

// installer returns the words that make a command run as root, or why nothing can
// be installed here.
func (t *Tool) installer(ctx context.Context) ([]string, error) {
	if strings.EqualFold(t.Getenv("LASTSEAT_DEV_INSTALL"), "no") {
		return nil, errors.New("LASTSEAT_DEV_INSTALL=no forbids to install it")
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, errors.New("dev installs Debian packages only, and this machine has no apt-get")
	}
	if os.Geteuid() == 0 {
		return nil, nil
	}
	if exec.CommandContext(ctx, "sudo", "-n", "true").Run() != nil {
		return nil, errors.New("dev may not install it: it is not root, and sudo is not there or wants a password")
	}
	return []string{"sudo", "-n"}, nil
}

// advice says what is missing, why it was not installed, and what to do.
func advice(missing []dependency, why error) string {
	var debian, fedora, brew []string
	for _, d := range missing {
		debian, fedora, brew = append(debian, d.debian), append(fedora, d.fedora), append(brew, d.brew)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "this machine lacks %s. %s. Either install it:\n", names(missing), why)
	fmt.Fprintf(&b, "  Debian, Ubuntu   sudo apt-get install --no-install-recommends %s\n", strings.Join(debian, " "))
	fmt.Fprintf(&b, "  Fedora           sudo dnf install %s\n", strings.Join(fedora, " "))
	fmt.Fprintf(&b, "  macOS            brew install %s\n", strings.Join(brew, " "))
	b.WriteString("or do without it, by environment:\n")
	for _, d := range missing {
		fmt.Fprintf(&b, "  %s\n", d.env)
	}
	return strings.TrimRight(b.String(), "\n")
}

func names(missing []dependency) string {
	var all []string
	for _, d := range missing {
		all = append(all, d.name)
	}
	return strings.Join(all, " and ")
}
