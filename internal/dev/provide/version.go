package provide

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// oldest is the oldest version that Lastseat works with.
const oldest = 15.0

// ErrMissing says that a program is not on this machine.
var ErrMissing = errors.New("not on this machine")

// PostgresFolders are where packages keep initdb and postgres outside PATH, as patterns.
// The newest match wins.
var PostgresFolders = []string{
	"/usr/lib/postgresql/*/bin",         // Debian
	"/usr/pgsql-*/bin",                  // PostgreSQL's own packages for Fedora and its relatives
	"/opt/homebrew/opt/postgresql*/bin", // Homebrew, to the last but one
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/latest/bin",
}

// FindPostgres returns the folder of initdb and postgres: the first one in path, else the
// newest that the patterns match. It returns ErrMissing if there is none, and
// another error if all are too old.
func FindPostgres(path, patterns []string) (string, error) {
	var elsewhere []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern)
		elsewhere = append(elsewhere, matches...)
	}
	slices.SortStableFunc(elsewhere, func(a, b string) int { return cmp.Compare(numberIn(b), numberIn(a)) })

	tooOld := ""
	for _, dir := range slices.Concat(path, elsewhere) {
		program := filepath.Join(dir, "postgres")
		if !executable(program) || !executable(filepath.Join(dir, "initdb")) {
			continue
		}
		version, err := versionOf(program)
		switch {
		case err != nil:
			return "", err
		case version >= oldest:
			return dir, nil
		case tooOld == "":
			tooOld = fmt.Sprintf("%s is version %g, and lastseat needs %g or newer", program, version, oldest)
		}
	}
	if tooOld != "" {
		return "", errors.New(tooOld)
	}
	return "", ErrMissing
}

var numberPattern = regexp.MustCompile(`.*/[^/0-9]*([0-9]+)`)

// numberIn returns the number in the last element of a path that has one, as in
// /usr/lib/postgresql/17/bin; 0 if none has.
func numberIn(path string) int {
	m := numberPattern.FindStringSubmatch(path)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// executable reports whether there is a program at path.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// "postgres (PostgreSQL) 15.20 (Debian …)", "postgres (PostgreSQL) 19beta1",
// "Redis server v=7.0.15 sha=…".
var versionPattern = regexp.MustCompile(`(?:PostgreSQL\) |v=)([0-9]+(?:\.[0-9]+)?)`)

// versionOf asks a postgres or a redis-server for its version and returns the
// first two numbers of it.
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

// versionIn returns the first two numbers of the version in a program's output, 0
// if there is none.
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
