package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Oldest versions that lastseat works with.
const (
	oldestPostgres = 15.0
	oldestRedis    = 6.2 // Asynq's
)

// binaries are the programs of others that we start.
type binaries struct {
	postgresDir string // where initdb and postgres are
	redisServer string // redis-server or valkey-server
	pgbouncer   string // the pooler that tests go through
	compiler    bool   // a C compiler that works, which -race needs
	office      string // LibreOffice's soffice
}

// need says which of them somebody wants.
type need struct{ postgres, redis, pgbouncer, compiler, office bool }

// binaries finds what is needed and installs what is missing, or returns an error that says what to do. Optional
// dependencies may still be missing without an error.
func (t *tool) binaries(ctx context.Context, n need) (binaries, error) {
	found, missing, err := t.findBinaries(ctx, n)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	if err := t.install(ctx, missing); err != nil {
		if ctx.Err() == nil && !slices.ContainsFunc(missing, func(d dependency) bool { return !d.optional }) {
			t.log.printf("%s", err)
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

func (t *tool) findBinaries(ctx context.Context, n need) (found binaries, missing []dependency, err error) {
	s := newSearch(t.getenv("PATH"))
	if n.postgres {
		if found.postgresDir, err = s.postgres(); errors.Is(err, errMissing) {
			missing = append(missing, postgresPackage)
		} else if err != nil {
			return found, nil, err
		}
	}
	if n.redis {
		if found.redisServer, err = s.redis(); errors.Is(err, errMissing) {
			missing = append(missing, redisPackage)
		} else if err != nil {
			return found, nil, err
		}
	}
	if n.pgbouncer {
		if found.pgbouncer = s.pgbouncer(); found.pgbouncer == "" {
			missing = append(missing, pgbouncerPackage)
		}
	}
	if n.compiler {
		if found.compiler = compilerWorks(ctx); !found.compiler {
			missing = append(missing, compilerPackage)
		}
	}
	if n.office {
		if found.office = s.office(); found.office == "" {
			missing = append(missing, officePackage)
		}
	}
	return found, missing, nil
}

var errMissing = errors.New("not on this machine")

// search is where programs are looked for: PATH first, then the places where packages keep them out of it.
type search struct {
	path         []string
	postgresDirs []string // patterns; of their matches the newest wins
	programDirs  []string
	officeDirs   []string
}

func newSearch(path string) search {
	return search{
		path: filepath.SplitList(path),
		postgresDirs: []string{
			"/usr/lib/postgresql/*/bin",                                           // Debian
			"/usr/pgsql-*/bin",                                                    // PostgreSQL's own packages for Fedora and its kin
			"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin", // Homebrew
			"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
			"/Applications/Postgres.app/Contents/Versions/latest/bin",
		},
		programDirs: []string{"/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin"},
		officeDirs:  []string{"/usr/bin", "/Applications/LibreOffice.app/Contents/MacOS"},
	}
}

// postgres returns the folder of initdb and postgres: the first in PATH, else the newest elsewhere. errMissing if there
// is none, another error if all of them are too old.
func (s search) postgres() (string, error) {
	dirs := slices.Clone(s.path)
	var elsewhere []string
	for _, pattern := range s.postgresDirs {
		matches, _ := filepath.Glob(pattern)
		elsewhere = append(elsewhere, matches...)
	}
	slices.SortStableFunc(elsewhere, func(a, b string) int { return cmp.Compare(numberIn(b), numberIn(a)) })

	tooOld := ""
	for _, dir := range append(dirs, elsewhere...) {
		program := filepath.Join(dir, "postgres")
		if !executable(program) || !executable(filepath.Join(dir, "initdb")) {
			continue
		}
		version, err := versionOf(program)
		switch {
		case err != nil:
			return "", err
		case version >= oldestPostgres:
			return dir, nil
		case tooOld == "":
			tooOld = fmt.Sprintf("%s is version %g, and lastseat needs %g or newer", program, version, oldestPostgres)
		}
	}
	if tooOld != "" {
		return "", errors.New(tooOld)
	}
	return "", errMissing
}

// redis returns the path of the first Redis, else the first Valkey. errMissing if there is none, another error if all
// of them are too old.
func (s search) redis() (string, error) {
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
	return "", errMissing
}

// pgbouncer returns the path of pgbouncer, or "" if there is none. Any version that is still packaged will do.
func (s search) pgbouncer() string {
	for _, dir := range slices.Concat(s.path, s.programDirs) {
		if program := filepath.Join(dir, "pgbouncer"); executable(program) {
			return program
		}
	}
	return ""
}

// office returns the path of LibreOffice's program, "" if there is none.
func (s search) office() string {
	for _, dir := range slices.Concat(s.path, s.officeDirs) {
		if program := filepath.Join(dir, "soffice"); executable(program) {
			return program
		}
	}
	return ""
}

var numberPattern = regexp.MustCompile(`.*/[^/0-9]*([0-9]+)`)

// numberIn returns the number in the last element of a path that has one, as in /usr/lib/postgresql/17/bin; 0 if none
// has.
func numberIn(path string) int {
	m := numberPattern.FindStringSubmatch(path)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// "postgres (PostgreSQL) 15.20 (Debian …)", "postgres (PostgreSQL) 19beta1", "Redis server v=7.0.15 sha=…".
var versionPattern = regexp.MustCompile(`(?:PostgreSQL\) |v=)([0-9]+(?:\.[0-9]+)?)`)

// versionOf asks the program for its version and returns the first two numbers of it.
func versionOf(program string) (float64, error) {
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("asking %s for its version: %w", program, err)
	}
	version := versionIn(out)
	if version == 0 {
		return 0, fmt.Errorf("%s does not tell its version: %q", program, out)
	}
	return version, nil
}

// versionIn returns the first two numbers of the version that a program tells, 0 if it tells none.
func versionIn(out []byte) float64 {
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return 0
	}
	version, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return 0
	}
	return version
}

// compilerWorks reports whether Go's C compiler is there and finds its headers.
func compilerWorks(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	cc := strings.Fields(string(out))
	if err != nil || len(cc) == 0 {
		return false
	}
	compile := exec.CommandContext(ctx, cc[0], append(cc[1:], "-fsyntax-only", "-x", "c", "-")...)
	compile.Stdin = strings.NewReader("#include <stdlib.h>\nint main(void) { return 0; }\n")
	return compile.Run() == nil
}
