package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake writes a program that says what a real one says when it is asked for its version.
func fake(t *testing.T, path, says string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\necho '%s'\n", says), 0o755); err != nil {
		t.Fatal(err)
	}
}

func fakePostgres(t *testing.T, dir, version string) {
	t.Helper()
	fake(t, filepath.Join(dir, "postgres"), "postgres (PostgreSQL) "+version)
	fake(t, filepath.Join(dir, "initdb"), "initdb (PostgreSQL) "+version)
}

func TestSearch_postgres(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fakePostgres(t, in("path"), "16.2")
	fakePostgres(t, in("oldpath"), "13.14 (Debian 13.14-0)")
	fake(t, in("half/postgres"), "postgres (PostgreSQL) 17.0") // no initdb
	for _, version := range []string{"9.6", "15", "17beta1"} {
		fakePostgres(t, in("debian/"+version+"/bin"), version)
	}
	fakePostgres(t, in("olddebian/9.6/bin"), "9.6.24")

	for _, test := range []struct {
		name, path, elsewhere string
		want                  string
		err                   string
	}{
		{"in PATH before elsewhere", in("path"), in("debian/*/bin"), in("path"), ""},
		{"the newest elsewhere", in("nothing"), in("debian/*/bin"), in("debian/17beta1/bin"), ""},
		{"too old in PATH", in("oldpath"), in("debian/*/bin"), in("debian/17beta1/bin"), ""},
		{"without initdb", in("half"), in("debian/*/bin"), in("debian/17beta1/bin"), ""},
		{"too old everywhere", in("oldpath"), in("olddebian/*/bin"), "", "oldpath/postgres is version 13.14, and lastseat needs 15 or newer"},
		{"nowhere", in("nothing"), in("none/*/bin"), "", errMissing.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := search{path: []string{test.path}, postgresDirs: []string{test.elsewhere}}.postgres()
			check(t, got, err, test.want, test.err)
		})
	}
}

func TestSearch_redis(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fake(t, in("redis/redis-server"), "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d")
	fake(t, in("old/redis-server"), "Redis server v=6.0.16 sha=00000000:0")
	fake(t, in("valkey/valkey-server"), "Valkey server v=8.0.1 sha=00000000:0")

	for _, test := range []struct {
		name      string
		path      []string
		want, err string
	}{
		{"redis", []string{in("valkey"), in("redis")}, in("redis/redis-server"), ""},
		{"valkey", []string{in("old"), in("valkey")}, in("valkey/valkey-server"), ""},
		{"too old", []string{in("old")}, "", "is version 6, and lastseat needs 6.2 or newer"},
		{"nowhere", []string{in("nothing")}, "", errMissing.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := search{path: test.path}.redis()
			check(t, got, err, test.want, test.err)
		})
	}
}

func check(t *testing.T, got string, err error, want, wantErr string) {
	t.Helper()
	if got != want || (err == nil) != (wantErr == "") || (err != nil && !strings.Contains(err.Error(), wantErr)) {
		t.Errorf("got %q, %v\nwant %q, %s", got, err, want, wantErr)
	}
}

func TestInstall_says_what_to_do_when_it_is_forbidden(t *testing.T) {
	t.Parallel()
	tool, out := newTool(newRoot(t), map[string]string{"LASTSEAT_DEV_INSTALL": "no"})
	err := tool.install(t.Context(), []dependency{postgresPackage, redisPackage})
	if err == nil {
		t.Fatal("installed")
	}
	for _, part := range []string{
		"PostgreSQL 15 or newer and Redis 6.2 or newer", "LASTSEAT_DEV_INSTALL=no forbids",
		"apt-get install --no-install-recommends postgresql redis-server", "brew install",
		"LASTSEAT_POSTGRES_URL=", "LASTSEAT_REDIS_URL=",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in\n%s", part, err)
		}
	}
	if out.String() != "" {
		t.Errorf("said %q", out.String())
	}
	if errors.Is(err, errMissing) {
		t.Error("the advice is final")
	}
}

func TestGoTestArgs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"", "test -race -shuffle=on -parallel=6 -timeout=30m ./..."},
		{"-run X", "test -race -shuffle=on -parallel=6 -timeout=30m ./... -run X"},
		{"-run X ./internal/lane", "test -race -shuffle=on -parallel=6 -timeout=30m -run X ./internal/lane"},
		{"github.com/lastseat/lastseat/internal/lane -v", "test -race -shuffle=on -parallel=6 -timeout=30m github.com/lastseat/lastseat/internal/lane -v"},
		{"-v -args ./x", "test -race -shuffle=on -parallel=6 -timeout=30m ./... -v -args ./x"},
	} {
		if got := strings.Join(goTestArgs(true, strings.Fields(test.args)), " "); got != test.want {
			t.Errorf("dev test %s: go %s, want go %s", test.args, got, test.want)
		}
	}
	if got := strings.Join(goTestArgs(false, nil), " "); got != "test -shuffle=on -parallel=6 -timeout=30m ./..." {
		t.Errorf("without -race: go %s", got)
	}
}
