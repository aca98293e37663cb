package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/testwait"
)

// newModule returns the root of a module with an api and a worker that only listen.
func newModule(t *testing.T) string {
	t.Helper()
	root := newRoot(t)
	if err := os.CopyFS(root, os.DirFS("testdata/module")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestStack(t *testing.T) {
	t.Parallel()
	root := newModule(t)
	tool, out := newTool(root, nil)
	if _, err := runningStack(root, "run"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before the start: %v", err)
	}
	err := tool.withStack(t.Context(), stackOptions{name: "run", knownPorts: true}, func(_ context.Context, s *stack) error {
		// The others use the services of this one: to have a Postgres each would take much longer.
		given := map[string]string{"LASTSEAT_POSTGRES_URL": s.PostgresURL, "LASTSEAT_REDIS_URL": s.RedisURL}
		t.Run("can be found", func(t *testing.T) { testStackIsFound(t, root, s) })
		t.Run("twice at the same time", func(t *testing.T) { testSecondStack(t, root, given, s) })
		t.Run("ends when a part of it dies", func(t *testing.T) { testDeath(t, root, given) })
		t.Run("ends well on a signal", func(t *testing.T) { testSignal(t, root, given) })
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := runningStack(root, "run"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}

	log := out.String()
	for _, part := range []string{"api    | migrating true\n", "api    | stopped\n", "worker | stopped\n"} {
		if !strings.Contains(log, part) {
			t.Errorf("no %q in the log:\n%s", part, log)
		}
	}
	last := -1
	for _, name := range []string{"api", "worker", "redis", "postgres"} {
		at := strings.LastIndex(log, "stopping "+name)
		if at <= last {
			t.Errorf("%s is stopped too early or not at all:\n%s", name, log)
		}
		last = at
	}
}

func testStackIsFound(t *testing.T, root string, s *stack) {
	found, err := runningStack(root, "run")
	if err != nil || !reflect.DeepEqual(found, s) {
		t.Errorf("runningStack() = %v, %v; want %v", found, err, s)
	}
	info, err := os.Stat(filepath.Join(s.Folder, stackFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", stackFile, info, err)
	}
}

func testSecondStack(t *testing.T, root string, given map[string]string, first *stack) {
	tool, out := newTool(root, given)
	err := tool.withStack(t.Context(), stackOptions{name: "run", knownPorts: true}, func(_ context.Context, s *stack) error {
		if s.APIURL == first.APIURL || s.WorkerAdminURL == first.WorkerAdminURL || filepath.Base(s.Folder) != "run-2" {
			t.Errorf("two stacks: %v and %v", first, s)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "is in use: the API gets another port") {
		t.Errorf("not a word about the ports:\n%s", out)
	}
}

func testDeath(t *testing.T, root string, given map[string]string) {
	tool, out := newTool(root, given)
	err := tool.withStack(t.Context(), stackOptions{name: "rush", scratch: true}, func(ctx context.Context, s *stack) error {
		if response, err := http.Get(s.WorkerAdminURL + "/die"); err == nil {
			response.Body.Close()
		}
		<-ctx.Done()
		return nil
	})
	if err == nil || err.Error() != "worker has died: exit status 3" {
		t.Errorf("got %v\n%s", err, out)
	}
}

func testSignal(t *testing.T, root string, given map[string]string) {
	tool, out := newTool(root, given)
	ctx, signal := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- tool.foreground(ctx, func(context.Context, *stack) error { return nil }) }()
	testwait.Until(t, "lastseat is up", func() bool { return strings.Contains(out.String(), "lastseat is up") })
	signal()
	if err := <-result; err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
