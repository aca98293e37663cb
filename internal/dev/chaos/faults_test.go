package chaos

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/redistest"
)

func TestEveryFaultIsComplete(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, f := range faults {
		if f.kind == "" || f.inject == nil || seen[f.kind] {
			t.Errorf("fault %q is not complete, or there twice", f.kind)
		}
		seen[f.kind] = true
	}
	s := &system{whyNoDisk: "it is not root"}
	if got := s.impossible(); len(got) != 1 || got["disk_full"] != "it is not root" {
		t.Errorf("not possible: %v", got)
	}
	if got := s.possible(plan{}); len(got) != len(faults)-1 {
		t.Errorf("%d of %d faults are possible", len(got), len(faults))
	}
	if got := s.possible(plan{kinds: []string{"cut", "disk_full"}}); len(got) != 1 || got[0].kind != "cut" {
		t.Errorf("of cut and disk_full, %v are possible", got)
	}
	var table strings.Builder
	(&result{numbers: numbers{NotPossible: s.impossible()}}).writeTable(&table)
	if !strings.Contains(table.String(), "disk_full: it is not root") {
		t.Errorf("the verdict does not name it:\n%s", table.String())
	}
}

// TestTheLedgersClockIsSetBack reads the clock as programs do, on a server that
// keeps the right time.
func TestTheLedgersClockIsSetBack(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	if err := installClock(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, `CREATE TABLE marks (at timestamptz NOT NULL DEFAULT clock_timestamp())`)
	for _, back := range []time.Duration{0, 2 * time.Hour} {
		pgtest.Exec(t, url, `UPDATE chaos.clock SET behind = $1`, back)
		pgtest.Exec(t, url, `INSERT INTO marks DEFAULT VALUES`)
		got := pgtest.Query[time.Duration](t, url, `
			SELECT pg_catalog.clock_timestamp() - c FROM unnest(ARRAY[now(), clock_timestamp(), (SELECT min(at) FROM marks)]) c`)
		for i, name := range []string{"now()", "clock_timestamp()", "a default"} {
			if behind := got[i]; behind < back || behind > back+time.Minute {
				t.Errorf("%s is %v behind, want %v", name, behind, back)
			}
		}
	}
	if schema := pgtest.Query[string](t, url, `SELECT schemaname::text FROM pg_tables WHERE tablename = 'marks'`)[0]; schema != "public" {
		t.Errorf("tables are made in %s", schema)
	}
}

func TestLaneLockHoldersAreFound(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	locks, err := postgres.ConnectLaneLocks(t.Context(), url, pgtest.Options, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	for _, want := range []int{0, 1} {
		if got := pgtest.Query[int](t, url, laneLockHolders); len(got) != want {
			t.Errorf("processes %v hold lanes, want %d", got, want)
		}
		if _, err := locks.TryLock(t.Context(), 1, 2); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMailTasksAreLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]loseTask{"vanish": vanish, "archive": archive, "activate without lease": activateWithoutLease} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.Start(t).Client()
			client, inspector := asynq.NewClientFromRedisClient(c), asynq.NewInspectorFromRedisClient(c)
			if id, err := lose(t.Context(), c, inspector); id != "" || err != nil {
				t.Errorf("without a task: %q, %v", id, err)
			}
			enqueue := func() error {
				_, err := client.EnqueueContext(t.Context(), asynq.NewTask("mail:send", nil), asynq.Queue(mailqueue.QueueName), asynq.TaskID("first"))
				return err
			}
			if err := enqueue(); err != nil {
				t.Fatal(err)
			}
			if id, err := lose(t.Context(), c, inspector); id != "first" || err != nil {
				t.Errorf("got %q, %v", id, err)
			}
			if n := c.LLen(t.Context(), pendingMails).Val(); n != 0 {
				t.Errorf("%d tasks are pending still", n)
			}
			if err := enqueue(); !errors.Is(err, asynq.ErrTaskIDConflict) {
				t.Errorf("its name is free: %v", err)
			}
		})
	}
}

// TestTheDiskGetsFull needs root, as the fault does.
func TestTheDiskGetsFull(t *testing.T) {
	t.Parallel()
	d := &disk{path: t.TempDir(), size: 1 << 20}
	if why := d.mount(d.path); why != "" {
		if os.Geteuid() == 0 {
			t.Logf("root cannot: %s", why)
		}
		if !strings.Contains(why, "cannot be mounted") {
			t.Errorf("it says %q", why)
		}
		return
	}
	defer func() {
		if err := cluster.UnmountMemory(d.path); err != nil {
			t.Error(err)
		}
		if err := cluster.UnmountMemory(d.path); err != nil { // nothing is mounted there any more
			t.Error(err)
		}
	}()
	write := func(name string) error { return os.WriteFile(d.path+"/"+name, make([]byte, 100_000), 0o600) }
	if err := write("a"); err != nil {
		t.Fatal(err)
	}
	if err := d.fill(); err != nil {
		t.Fatal(err)
	}
	if err := write("b"); err == nil {
		t.Error("there is room on a full disk")
	}
	if err := write("a"); err != nil {
		t.Errorf("what is there cannot be written again: %v", err)
	}
	if err := cluster.ResizeMemory(d.path, d.size); err != nil {
		t.Fatal(err)
	}
	if err := write("b"); err != nil {
		t.Errorf("after it was emptied: %v", err)
	}
}

func TestARotationHasEveryKindBeforeOneComesAgain(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		o, again := newRotation(stream(7, 5), 1, faults, alone), newRotation(stream(7, 5), 1, faults, alone)
		for round := range 3 {
			seen := make(map[string]bool)
			for range o.faults {
				f, number := o.next()
				same, sameNumber := again.next()
				if f.alone != alone || seen[f.kind] || f.kind != same.kind || number != sameNumber {
					t.Errorf("round %d: %s, and %s from the same seed", round, f.kind, same.kind)
				}
				seen[f.kind] = true
			}
		}
	}
}
