package stack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lastseat/lastseat/internal/dev/cluster"
)

// oldestRedis is the oldest version that Asynq works with.
const oldestRedis = 6.2

// Binaries are other people's programs that we start.
type Binaries struct {
	PostgresDir string // the folder of initdb and postgres
	RedisServer string // redis-server or valkey-server
	PgBouncer   string // the pooler that tests go through
	Compiler    bool   // there is a C compiler that works, which -race needs
	Office      string // LibreOffice's soffice
}

// Need says which of the programs a command needs.
type Need struct{ Postgres, Redis, PgBouncer, Compiler, Office bool }

// Binaries finds what is needed and installs what is missing, or returns an error
// that says what to do. Optional programs may still be missing without an error.
func (t *Tool) Binaries(ctx context.Context, n Need) (Binaries, error) {
	found, missing, err := t.findBinaries(ctx, n)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	if err := t.install(ctx, missing); err != nil {
		if ctx.Err() == nil && !slices.ContainsFunc(missing, func(d dependency) bool { return !d.optional }) {
			t.Log.Printf("%s", err)
			return found, nil
		}
		return found, err
	}
	found, missing, err = t.findBinaries(ctx, n)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%s has been installed, but is not where it is looked for", missing[0].name)
	}
	return found, err
}

func (t *Tool) findBinaries(ctx context.Context, n Need) (found Binaries, missing []dependency, err error) {
	s := newSearch(t.Getenv("PATH"))
	for _, p := range []struct {
		needed  bool
		find    func() error // ErrMissing if the program is not there
		install dependency
	}{
		{n.Postgres, func() (err error) { found.PostgresDir, err = cluster.Find(s.path, cluster.Folders); return err }, postgresPackage},
		{n.Redis, func() (err error) { found.RedisServer, err = s.redis(); return err }, redisPackage},
		{n.PgBouncer, func() (err error) { found.PgBouncer, err = s.program("pgbouncer", s.programDirs); return err }, pgbouncerPackage},
		{n.Compiler, func() (err error) { found.Compiler, err = compilerWorks(ctx); return err }, compilerPackage},
		{n.Office, func() (err error) { found.Office, err = s.program("soffice", s.officeDirs); return err }, officePackage},
	} {
		if !p.needed {
			continue
		}
		if err := p.find(); errors.Is(err, cluster.ErrMissing) {
			missing = append(missing, p.install)
		} else if err != nil {
			return found, nil, err
		}
	}
	return found, missing, nil
}

// search is where programs are looked for: PATH first, then the places where
// packages keep them outside PATH.
type search struct {
	path        []string
	programDirs []string
	officeDirs  []string
}

func newSearch(path string) search {
	return search{
		path:        filepath.SplitList(path),
		programDirs: []string{"/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin"},
		officeDirs:  []string{"/usr/bin", "/Applications/LibreOffice.app/Contents/MacOS"},
	}
}

// redis returns the path of the first Redis, else of the first Valkey. It returns
// ErrMissing if there is none, and another error if all are too old.
func (s search) redis() (string, error) {
	tooOld := ""
	for _, name := range []string{"redis-server", "valkey-server"} {
		for _, dir := range slices.Concat(s.path, s.programDirs) {
			program := filepath.Join(dir, name)
			if !cluster.Executable(program) {
				continue
			}
			version, err := cluster.VersionOf(program)
			switch {
			case err != nil:
				return "", err
			case version >= oldestRedis:
				return program, nil
			case tooOld == "":
				tooOld = fmt.Sprintf("%s is version %g, and lastseat needs %g or newer", program, version, oldestRedis)
			}
		}
	}
	if tooOld != "" {
		return "", errors.New(tooOld)
	}
	return "", cluster.ErrMissing
}

// program returns the path of the first program of that name, of any version; or
// ErrMissing.
func (s search) program(name string, elsewhere []string) (string, error) {
	for _, dir := range slices.Concat(s.path, elsewhere) {
		if program := filepath.Join(dir, name); cluster.Executable(program) {
			return program, nil
		}
	}
	return "", cluster.ErrMissing
}

// compilerWorks reports whether Go's C compiler is there and finds its headers. It
// returns ErrMissing if not.
func compilerWorks(ctx context.Context) (bool, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	cc := strings.Fields(string(out))
	if err != nil || len(cc) == 0 {
		return false, cluster.ErrMissing
	}
	compile := exec.CommandContext(ctx, cc[0], append(cc[1:], "-fsyntax-only", "-x", "c", "-")...)
	compile.Stdin = strings.NewReader("#include <stdlib.h>\nint main(void) { return 0; }\n")
	if compile.Run() != nil {
		return false, cluster.ErrMissing
	}
	return true, nil
}
