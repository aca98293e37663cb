// Package provide finds the programs of other projects that Lastseat works with,
// Postgres and Redis first of all, and fetches those that are missing. It installs
// nothing unless it is told to. It imports little, so that cmd/dev/prepare, which
// runs it while everything else is still being compiled, is built in seconds.
//
//	provide.go   the order in which programs are looked for
//	find.go      what is on the machine; version.go: and new enough
//	unpack.go    Debian's packages, unpacked without being installed (unpack.sh)
//	install.go   Debian's packages, installed (install.sh)
//	embedded.go  programs that Go modules bring
package provide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// BuiltVariable is the environment variable with the folder in which
// cmd/dev/prepare has just built api and worker.
const BuiltVariable = "LASTSEAT_DEV_BUILT"

// Programs are other people's programs that the developer's tools start.
type Programs struct {
	PostgresDir string // the folder of initdb and postgres
	RedisServer string // redis-server, valkey-server, or ours that simulates one
	PgBouncer   string // the pooler that tests go through
	Compiler    bool   // there is a C compiler that works, which -race needs
	Office      string // LibreOffice's soffice
}

// Need says which of the programs a command needs.
type Need struct {
	Postgres, Redis, PgBouncer, Compiler, Office bool

	Simulation bool // a simulated Redis will do
}

// Provider looks for programs.
type Provider struct {
	Root   string // the module's root; what is fetched is kept in its .dev
	Getenv func(string) string
	Log    *proc.Console
}

// installVariable is the environment variable that says what may be done about
// missing programs, with one of these values.
const (
	installVariable = "LASTSEAT_DEV_INSTALL"

	installNothing  = "no"       // fetch nothing
	installSystem   = "system"   // install Debian's packages, as root
	installEmbedded = "embedded" // only what Go modules bring
)

// Programs finds what is needed and fetches what is missing, or returns an error
// that says what to do. Optional programs may still be missing without an error.
func (p Provider) Programs(ctx context.Context, n Need) (Programs, error) {
	found, missing, err := p.find(ctx, n)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	obstacle := p.fetch(ctx, n, missing)
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	// Some of them may be there now, whatever the obstacle was.
	found, missing, err = p.find(ctx, n)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	if obstacle == nil {
		obstacle = fmt.Errorf("%s was fetched, but is not where it is looked for", missing[0].name)
	}
	advice := errors.New(advice(missing, obstacle))
	if slices.ContainsFunc(missing, func(d dependency) bool { return !d.optional }) {
		return found, advice
	}
	p.Log.Printf("%s", advice)
	return found, nil
}

// fetch fetches the missing programs in the first way that works here. It returns
// an error if some could not be fetched.
func (p Provider) fetch(ctx context.Context, n Need, missing []dependency) error {
	switch choice := p.Getenv(installVariable); choice {
	case installNothing:
		return errors.New(installVariable + "=no forbids to fetch it")
	case installSystem:
		return p.install(ctx, missing)
	case installEmbedded:
		return p.embed(ctx, n, missing)
	case "":
	default:
		return fmt.Errorf("%s is %q: it can be %s, %s or %s", installVariable, choice, installSystem, installEmbedded, installNothing)
	}
	why := p.unpack(ctx, missing)
	if why == nil || ctx.Err() != nil {
		return why
	}
	_, missing, err := p.find(ctx, n)
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(d dependency) bool { return d.optional })
	if len(missing) == 0 {
		return why
	}
	return errors.Join(why, p.embed(ctx, n, missing))
}

// folder returns the folder that keeps what was fetched.
//
// Postgres refuses to run as root, and the user that runs it in place of root may
// not be able to enter the project. So root keeps the programs elsewhere.
func (p Provider) folder() string {
	if os.Geteuid() == 0 {
		return "/var/cache/lastseat-dev"
	}
	return filepath.Join(p.Root, ".dev", "programs")
}

// dependency is another project's program and how you get it.
type dependency struct {
	name     string
	debian   string // packages
	fedora   string
	brew     string
	env      string // what to set instead, with an example
	programs string // where they are in Debian's packages, as patterns; empty = they work only where they are installed

	optional bool // the tool works without it
}

var (
	postgresPackage = dependency{
		name: "PostgreSQL 15 or newer", debian: "postgresql", fedora: "postgresql-server", brew: "postgresql@17",
		env:      "LASTSEAT_POSTGRES_URL=postgres://user:password@host:5432/database   (dev test: LASTSEAT_TEST_POSTGRES_URL)",
		programs: "usr/lib/postgresql/*/bin/postgres usr/lib/postgresql/*/bin/initdb",
	}
	redisPackage = dependency{
		name: "Redis 6.2 or newer", debian: "redis-server", fedora: "valkey", brew: "redis",
		env:      "LASTSEAT_REDIS_URL=redis://host:6379/0   (dev test needs the program itself)",
		programs: "usr/bin/redis-server",
	}
	pgbouncerPackage = dependency{
		name: "pgbouncer", debian: "pgbouncer", fedora: "pgbouncer", brew: "pgbouncer",
		env:      "LASTSEAT_TEST_PGBOUNCER=/path/to/pgbouncer   (dev test needs the program itself)",
		programs: "usr/sbin/pgbouncer",
	}
	compilerPackage = dependency{
		name: "a C compiler for go test -race", debian: "gcc libc6-dev", fedora: "gcc", brew: "gcc",
		env: "CGO_ENABLED=0   (tests then run without -race)", optional: true,
	}
	officePackage = dependency{
		name: "LibreOffice Calc", debian: "libreoffice-calc", fedora: "libreoffice-calc", brew: "--cask libreoffice",
		env:      "LASTSEAT_TEST_SOFFICE=/path/to/soffice   (else the test that opens our CSV in a spreadsheet fails)",
		programs: "usr/lib/libreoffice/program/soffice", optional: true,
	}
)

// advice says what is missing, why it was not fetched, and what to do.
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
	fmt.Fprintf(&b, "  as root          %s=%s make …   (Debian's packages; no service is started)\n", installVariable, installSystem)
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
