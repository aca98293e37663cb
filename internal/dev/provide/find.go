package provide

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// oldestRedis is the oldest version that Asynq works with.
const oldestRedis = 6.2

// find finds what is needed and says what is missing.
func (p Provider) find(ctx context.Context, n Need) (found Programs, missing []dependency, err error) {
	s := newSearch(p.Getenv("PATH"), p.folder())
	for _, part := range []struct {
		needed  bool
		find    func() error // ErrMissing if the program is not there
		install dependency
	}{
		{n.Postgres, func() (err error) { found.PostgresDir, err = FindPostgres(s.path, s.postgres); return err }, postgresPackage},
		{n.Redis, func() (err error) { found.RedisServer, err = s.redis(n.Simulation); return err }, redisPackage},
		{n.PgBouncer, func() (err error) { found.PgBouncer, err = s.program("pgbouncer", s.programDirs); return err }, pgbouncerPackage},
		{n.Compiler, func() (err error) { found.Compiler, err = compilerWorks(ctx); return err }, compilerPackage},
		{n.Office, func() (err error) { found.Office, err = s.program("soffice", s.officeDirs); return err }, officePackage},
	} {
		if !part.needed {
			continue
		}
		if err := part.find(); errors.Is(err, ErrMissing) {
			missing = append(missing, part.install)
		} else if err != nil {
			return found, nil, err
		}
	}
	return found, missing, nil
}

// search is where programs are looked for: PATH first, then the places where
// packages keep them outside PATH, then what was fetched.
type search struct {
	path        []string
	programDirs []string
	officeDirs  []string
	postgres    []string // patterns
}

func newSearch(path, fetched string) search {
	ours, _ := filepath.Glob(filepath.Join(fetched, "*", "bin")) // a pattern in the path finds nothing, at worst
	return search{
		path: filepath.SplitList(path),
		programDirs: append([]string{
			"/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin",
		}, ours...),
		officeDirs: append([]string{"/usr/bin", "/Applications/LibreOffice.app/Contents/MacOS"}, ours...),
		postgres:   append(slices.Clone(PostgresFolders), ours...),
	}
}

// redis returns the path of the first Redis, else of the first Valkey, else, where
// that will do, of our simulation. It returns ErrMissing if there is none, and
// another error if all are too old.
func (s search) redis(simulation bool) (string, error) {
	tooOld := ""
	for _, name := range []string{"redis-server", "valkey-server"} {
		for _, dir := range slices.Concat(s.path, s.programDirs) {
			program := filepath.Join(dir, name)
			if !executable(program) {
				continue
			}
			version, err := versionOf(program)
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
	if simulation {
		return s.program(Simulation, s.programDirs)
	}
	return "", ErrMissing
}

// program returns the path of the first program of that name, of any version; or
// ErrMissing.
func (s search) program(name string, elsewhere []string) (string, error) {
	for _, dir := range slices.Concat(s.path, elsewhere) {
		if program := filepath.Join(dir, name); executable(program) {
			return program, nil
		}
	}
	return "", ErrMissing
}

// compilerWorks reports whether Go's C compiler is there and finds its headers. It
// returns ErrMissing if not.
func compilerWorks(ctx context.Context) (bool, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	cc := strings.Fields(string(out))
	if err != nil || len(cc) == 0 {
		return false, ErrMissing
	}
	compile := exec.CommandContext(ctx, cc[0], append(cc[1:], "-fsyntax-only", "-x", "c", "-")...)
	compile.Stdin = strings.NewReader("#include <stdlib.h>\nint main(void) { return 0; }\n")
	if compile.Run() != nil {
		return false, ErrMissing
	}
	return true, nil
}
