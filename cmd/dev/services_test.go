package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

var testOptions = postgresOptions{durable: false, maxConnections: 20, database: "lastseat"}

// withServices starts Postgres and Redis of its own in root, calls body and stops them.
func withServices(t *testing.T, tool *tool, body func(f *folder, family *family, s services)) {
	t.Helper()
	err := tool.withFolder(t.Context(), "run", false, func(ctx context.Context, family *family, f *folder) error {
		s, err := tool.startServices(ctx, family, f, testOptions)
		if err == nil {
			body(f, family, s)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// execSQL runs a statement.
func execSQL(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// queryNumber runs a statement that returns one number.
func queryNumber(t *testing.T, url, statement string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), statement).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestServices_twice_at_the_same_time_in_a_deep_folder(t *testing.T) {
	t.Parallel()
	root := filepath.Join(newRoot(t), strings.Repeat("deep/", 40))
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	tool, _ := newTool(root, nil)
	withServices(t, tool, func(f *folder, _ *family, first services) {
		withServices(t, tool, func(_ *folder, _ *family, second services) {
			if first.PostgresURL == second.PostgresURL || first.RedisURL == second.RedisURL {
				t.Errorf("the same services: %v", first)
			}
			for _, s := range []services{first, second} {
				execSQL(t, s.PostgresURL, "CREATE TABLE own ()")
				if err := pingRedis(t.Context(), s.RedisURL, 0); err != nil {
					t.Error(err)
				}
			}
		})
		if os.Geteuid() == 0 {
			info, err := os.Stat(f.join(clusterName))
			if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 || info.Mode().Perm() != 0o700 {
				t.Errorf("the cluster: %v, %v", info, err)
			}
		}
	})
}

func TestServices_keep_data_after_a_dirty_stop(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	tool, out := newTool(root, nil)
	durable := testOptions
	durable.durable = true
	err := tool.withFolder(t.Context(), "run", false, func(ctx context.Context, family *family, f *folder) error {
		s, err := tool.startServices(ctx, family, f, durable)
		if err != nil {
			return err
		}
		execSQL(t, s.PostgresURL, "CREATE TABLE kept AS SELECT 7 AS n")
		_ = syscall.Kill(family.members[0].pid, syscall.SIGKILL)
		<-ctx.Done()
		return nil
	})
	if death := (*deathError)(nil); !errors.As(err, &death) || death.name != "postgres" {
		t.Fatalf("after Postgres was killed: %v", err)
	}

	// What is left is a postmaster.pid. Its number now belongs to another process.
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	pidFile := filepath.Join(root, ".dev", "run", clusterName, "data", "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "\n")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	withServices(t, tool, func(_ *folder, _ *family, s services) {
		if n := queryNumber(t, s.PostgresURL, "SELECT n FROM kept"); n != 7 {
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
	tool, out := newTool(newRoot(t), nil)
	// A Postgres that nobody of the second start knows.
	withServices(t, tool, func(f *folder, lost *family, s services) {
		leftover := lost.members[0]
		leftover.stopping.Store(true)
		family, ctx := newFamily(t.Context(), tool.log)
		defer family.halt()
		_, url, err := startPostgres(ctx, family, f, filepath.Dir(leftover.args[0]), testOptions)
		if err != nil {
			t.Fatal(err)
		}
		<-leftover.ended
		if url == s.PostgresURL || !strings.Contains(out.String(), "left behind") {
			t.Errorf("%s and %s:\n%s", s.PostgresURL, url, out)
		}
	})
}

func TestServices_repeat_an_interrupted_initdb(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	unfinished := filepath.Join(root, ".dev", "run", clusterName+".new-1", "data")
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(unfinished, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, _ := newTool(root, nil)
	withServices(t, tool, func(_ *folder, _ *family, s services) { queryNumber(t, s.PostgresURL, "SELECT 1") })
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
	err := tool.withFolder(t.Context(), "test", true, func(ctx context.Context, family *family, f *folder) error {
		s, err := tool.startServices(ctx, family, f, testOptions)
		if err == nil {
			queryNumber(t, s.PostgresURL, "SELECT 1")
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

func TestServices_of_the_environment(t *testing.T) {
	t.Parallel()
	root := newRoot(t)
	own, _ := newTool(root, nil)
	withServices(t, own, func(_ *folder, _ *family, s services) {
		given, _ := newTool(root, map[string]string{"LASTSEAT_POSTGRES_URL": s.PostgresURL, "LASTSEAT_REDIS_URL": s.RedisURL})
		withServices(t, given, func(_ *folder, none *family, same services) {
			if len(none.members) != 0 || same != s {
				t.Errorf("started %d processes, uses %v", len(none.members), same)
			}
		})
		gone, _ := newTool(root, map[string]string{"LASTSEAT_POSTGRES_URL": "postgres://127.0.0.1:1/x", "LASTSEAT_REDIS_URL": s.RedisURL})
		err := gone.withFolder(t.Context(), "run", false, func(ctx context.Context, family *family, f *folder) error {
			_, err := gone.startServices(ctx, family, f, testOptions)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "LASTSEAT_POSTGRES_URL") {
			t.Errorf("with a Postgres that is not there: %v", err)
		}
	})
}
