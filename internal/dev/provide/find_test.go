package provide

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

func TestSearch_redis(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	devtest.FakeProgram(t, in("redis/redis-server"), "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d")
	devtest.FakeProgram(t, in("old/redis-server"), "Redis server v=6.0.16 sha=00000000:0")
	devtest.FakeProgram(t, in("valkey/valkey-server"), "Valkey server v=8.0.1 sha=00000000:0")

	for _, test := range []struct {
		name      string
		path      []string
		want, err string
	}{
		{"redis", []string{in("valkey"), in("redis")}, in("redis/redis-server"), ""},
		{"valkey", []string{in("old"), in("valkey")}, in("valkey/valkey-server"), ""},
		{"too old", []string{in("old")}, "", "is version 6, and lastseat needs 6.2 or newer"},
		{"nowhere", []string{in("nothing")}, "", ErrMissing.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := search{path: test.path}.redis(false)
			devtest.CheckResult(t, got, err, test.want, test.err)
		})
	}
}

func TestPrograms_says_what_to_do_when_fetching_is_forbidden(t *testing.T) {
	t.Parallel()
	out := new(devtest.Output)
	p := Provider{
		Root: devtest.NewRoot(t), Log: proc.NewConsole(out, devtest.NoEnv),
		Getenv: devtest.Env(map[string]string{"LASTSEAT_DEV_INSTALL": "no"}),
	}
	err := errors.New(advice([]dependency{postgresPackage, redisPackage}, p.fetch(t.Context(), Need{}, nil)))
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
	if errors.Is(err, ErrMissing) {
		t.Error("the advice is final")
	}
}
