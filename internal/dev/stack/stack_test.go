package stack

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

	"github.com/lastseat/lastseat/internal/dev/devtest"
)

func TestStack(t *testing.T) {
	t.Parallel()
	root := devtest.NewModule(t, "testdata/module")
	tool, out := newTool(root, nil)
	if _, err := Running(root, "run"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before the start: %v", err)
	}
	err := tool.Run(t.Context(), Options{Name: "run", KnownPorts: true}, func(_ context.Context, s *Stack) error {
		// The other stacks use the services of this one: a Postgres for each would take
		// much longer.
		given := map[string]string{"LASTSEAT_POSTGRES_URL": s.PostgresURL, "LASTSEAT_REDIS_URL": s.RedisURL}
		t.Run("can be found", func(t *testing.T) { testStackIsFound(t, root, s) })
		t.Run("twice at the same time", func(t *testing.T) { testSecondStack(t, root, given, s) })
		t.Run("ends when a part of it dies", func(t *testing.T) { testDeath(t, root, given) })
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := Running(root, "run"); !errors.Is(err, fs.ErrNotExist) {
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

func testStackIsFound(t *testing.T, root string, s *Stack) {
	found, err := Running(root, "run")
	if err != nil || !reflect.DeepEqual(found, s) {
		t.Errorf("Running() = %v, %v; want %v", found, err, s)
	}
	info, err := os.Stat(filepath.Join(s.Folder, stackFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", stackFile, info, err)
	}
}

func testSecondStack(t *testing.T, root string, given map[string]string, first *Stack) {
	tool, out := newTool(root, given)
	err := tool.Run(t.Context(), Options{Name: "run", KnownPorts: true}, func(_ context.Context, s *Stack) error {
		if s.APIURL == first.APIURL || s.WorkerAdminURL == first.WorkerAdminURL || filepath.Base(s.Folder) != "run-2" {
			t.Errorf("two stacks: %v and %v", first, s)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "is in use: the API gets another port") {
		t.Errorf("the ports are not mentioned:\n%s", out)
	}
}

func testDeath(t *testing.T, root string, given map[string]string) {
	tool, out := newTool(root, given)
	err := tool.Run(t.Context(), Options{Name: "rush", Scratch: true}, func(ctx context.Context, s *Stack) error {
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
