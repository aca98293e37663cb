package stack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
	"github.com/lastseat/lastseat/internal/pgtest"
)

var (
	testOptions  = cluster.Options{Durable: false, MaxConnections: 20}
	testServices = ServiceOptions{Postgres: testOptions, Database: "lastseat"}
)

// withServices starts its own Postgres and Redis, calls body and stops them.
func withServices(t *testing.T, tool *Tool, body func(f *Folder, g *proc.Group, s Services)) {
	t.Helper()
	err := tool.WithFolder(t.Context(), "run", false, func(ctx context.Context, g *proc.Group, f *Folder) error {
		s, err := tool.StartServices(ctx, g, f, testServices)
		if err == nil {
			body(f, g, s)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServices_twice_at_the_same_time_in_a_deep_folder(t *testing.T) {
	t.Parallel()
	root := filepath.Join(devtest.NewRoot(t), strings.Repeat("deep/", 40))
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	tool, _ := newTool(root, nil)
	withServices(t, tool, func(f *Folder, _ *proc.Group, first Services) {
		withServices(t, tool, func(_ *Folder, _ *proc.Group, second Services) {
			if first.PostgresURL == second.PostgresURL || first.RedisURL == second.RedisURL {
				t.Errorf("the same services: %v", first)
			}
			for _, s := range []Services{first, second} {
				pgtest.Exec(t, s.PostgresURL, "CREATE TABLE own ()")
				if err := pingRedis(t.Context(), s.RedisURL, 0); err != nil {
					t.Error(err)
				}
			}
		})
		if os.Geteuid() == 0 {
			info, err := os.Stat(f.Join(cluster.Name))
			if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 || info.Mode().Perm() != 0o700 {
				t.Errorf("the cluster: %v, %v", info, err)
			}
		}
	})
}

func TestServices_keep_data_after_a_dirty_stop(t *testing.T) {
	t.Parallel()
	root := devtest.NewRoot(t)
	tool, out := newTool(root, nil)
	durable := testServices
	durable.Postgres.Durable = true
	err := tool.WithFolder(t.Context(), "run", false, func(ctx context.Context, g *proc.Group, f *Folder) error {
		s, err := tool.StartServices(ctx, g, f, durable)
		if err != nil {
			return err
		}
		pgtest.Exec(t, s.PostgresURL, "CREATE TABLE kept AS SELECT 7 AS n")
		_ = syscall.Kill(g.PIDs()[proc.PartPostgres], syscall.SIGKILL)
		<-ctx.Done()
		return nil
	})
	if end := (*proc.UnexpectedEnd)(nil); !errors.As(err, &end) || end.Name != "postgres" {
		t.Fatalf("after Postgres was killed: %v", err)
	}

	// What is left is a postmaster.pid. Its number now belongs to another process.
	other := exec.Command("sleep", "600")
	if err := proc.StartGuarded(other, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = proc.WaitGuarded(other) }()
	pidFile := filepath.Join(root, ".dev", "run", cluster.Name, "data", "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "\n")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	withServices(t, tool, func(_ *Folder, _ *proc.Group, s Services) {
		if n := pgtest.Query[int](t, s.PostgresURL, "SELECT n FROM kept")[0]; n != 7 {
			t.Errorf("kept %d", n)
		}
	})
	if strings.Contains(out.String(), "left behind") {
		t.Errorf("stopped something:\n%s", out)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other process is gone: %v", err)
	}
}

func TestServices_stop_a_leftover_postgres(t *testing.T) {
	t.Parallel()
	tool, out := newTool(devtest.NewRoot(t), nil)
	err := tool.WithFolder(t.Context(), "run", false, func(ctx context.Context, g *proc.Group, f *Folder) error {
		own, err := tool.Programs(ctx, provide.Need{Postgres: true})
		if err != nil {
			return err
		}
		// A second start does not know this Postgres.
		leftover, first, err := f.StartPostgres(ctx, g, own.PostgresDir, testOptions, "lastseat")
		if err != nil {
			return err
		}
		leftover.Process.ExpectEnd()
		_, second, err := f.StartPostgres(ctx, g, own.PostgresDir, testOptions, "lastseat")
		if err != nil {
			return err
		}
		<-leftover.Process.Ended()
		if first == second || !strings.Contains(out.String(), "left behind") {
			t.Errorf("%s and %s:\n%s", first, second, out)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestServices_repeat_an_interrupted_initdb(t *testing.T) {
	t.Parallel()
	root := devtest.NewRoot(t)
	unfinished := filepath.Join(root, ".dev", "run", cluster.Name+".new-1", "data")
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(unfinished, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, _ := newTool(root, nil)
	withServices(t, tool, func(_ *Folder, _ *proc.Group, s Services) { pgtest.Query[int](t, s.PostgresURL, "SELECT 1") })
	if _, err := os.Stat(filepath.Dir(unfinished)); err == nil {
		t.Error("what initdb left is still there")
	}
}

func TestServices_below_a_folder_only_root_may_enter(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root := t.TempDir() // mode 0700
	tool, out := newTool(root, nil)
	err := tool.WithFolder(t.Context(), "test", true, func(ctx context.Context, g *proc.Group, f *Folder) error {
		s, err := tool.StartServices(ctx, g, f, testServices)
		if err == nil {
			pgtest.Query[int](t, s.PostgresURL, "SELECT 1")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "its data is in ") {
		t.Errorf("it does not say where the data is:\n%s", out)
	}
	for _, spare := range openFolder(root, "test").spares() {
		if _, err := os.Stat(spare); err == nil {
			t.Errorf("%s is still there", spare)
		}
	}
}

// TestServices_start_afresh_without_dev: also where the data is not in .dev.
func TestServices_start_afresh_without_dev(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root := t.TempDir() // mode 0700
	tool, out := newTool(root, nil)
	t.Cleanup(func() {
		if err := tool.Reset(context.Background()); err != nil {
			t.Error(err)
		}
	})
	hasRuns := func() (there bool) {
		t.Helper()
		withServices(t, tool, func(f *Folder, _ *proc.Group, s Services) {
			there = pgtest.Query[bool](t, s.PostgresURL, "SELECT to_regclass('runs') IS NOT NULL")[0]
			pgtest.Exec(t, s.PostgresURL, "CREATE TABLE IF NOT EXISTS runs ()")
			if _, err := os.Stat(f.Join(cluster.Name)); err == nil {
				t.Error("the data is in .dev: this test shows nothing")
			}
			if err := tool.Reset(t.Context()); err == nil || !strings.Contains(err.Error(), "instance run is running") {
				t.Errorf("a reset while it runs: %v", err)
			}
		})
		return there
	}
	if hasRuns() || !hasRuns() {
		t.Fatal("a second start does not keep the data")
	}
	if err := os.RemoveAll(filepath.Join(root, ".dev")); err != nil {
		t.Fatal(err)
	}
	if hasRuns() || !strings.Contains(out.String(), "it has the data of an earlier") {
		t.Errorf("the data comes back:\n%s", out)
	}
	if err := tool.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(openFolder(root, "run").spares(), filepath.Join(root, ".dev", "run")) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s after a reset: %v", path, err)
		}
	}
}

func TestServices_of_the_environment(t *testing.T) {
	t.Parallel()
	root := devtest.NewRoot(t)
	own, _ := newTool(root, nil)
	withServices(t, own, func(_ *Folder, _ *proc.Group, s Services) {
		given, _ := newTool(root, map[string]string{"LASTSEAT_POSTGRES_URL": s.PostgresURL, "LASTSEAT_REDIS_URL": s.RedisURL})
		withServices(t, given, func(_ *Folder, none *proc.Group, same Services) {
			if pids := none.PIDs(); len(pids) != 0 || same != s {
				t.Errorf("started the processes %v, uses %v", pids, same)
			}
		})
		gone, _ := newTool(root, map[string]string{"LASTSEAT_POSTGRES_URL": "postgres://127.0.0.1:1/x", "LASTSEAT_REDIS_URL": s.RedisURL})
		err := gone.WithFolder(t.Context(), "run", false, func(ctx context.Context, g *proc.Group, f *Folder) error {
			_, err := gone.StartServices(ctx, g, f, testServices)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "LASTSEAT_POSTGRES_URL") {
			t.Errorf("with a Postgres that is not there: %v", err)
		}
	})
}
