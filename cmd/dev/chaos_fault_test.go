package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

func TestEveryFaultIsComplete(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, f := range faults {
		if f.kind == "" || f.do == nil || seen[f.kind] {
			t.Errorf("fault %q is not complete, or there twice", f.kind)
		}
		seen[f.kind] = true
	}
	s := &site{whyNoDisk: "it is not root"}
	if got := s.impossible(); len(got) != 1 || got["disk_full"] != "it is not root" {
		t.Errorf("not possible: %v", got)
	}
	if got := s.possible(chaosPlan{}); len(got) != len(faults)-1 {
		t.Errorf("%d of %d faults are possible", len(got), len(faults))
	}
	if got := s.possible(chaosPlan{kinds: []string{"cut", "disk_full"}}); len(got) != 1 || got[0].kind != "cut" {
		t.Errorf("of cut and disk_full, %v are possible", got)
	}
	var table strings.Builder
	chaosResult{chaosJSON: chaosJSON{NotPossible: s.impossible()}}.writeTable(&table)
	if !strings.Contains(table.String(), "disk_full: it is not root") {
		t.Errorf("the verdict does not name it:\n%s", table.String())
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
		if err := unmountMemory(d.path); err != nil {
			t.Error(err)
		}
		if err := unmountMemory(d.path); err != nil { // nothing is mounted there any more
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
	if err := resizeMemory(d.path, d.size); err != nil {
		t.Fatal(err)
	}
	if err := write("b"); err != nil {
		t.Errorf("after it was emptied: %v", err)
	}
}

func TestADeckDealsEveryKindBeforeOneComesAgain(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		d, again := newDeck(7, 5, faults, alone), newDeck(7, 5, faults, alone)
		for round := range 3 {
			seen := make(map[string]bool)
			for range d.faults {
				f, number := d.deal()
				same, sameNumber := again.deal()
				if f.alone != alone || seen[f.kind] || f.kind != same.kind || number != sameNumber {
					t.Errorf("round %d: dealt %s, and %s from the same seed", round, f.kind, same.kind)
				}
				seen[f.kind] = true
			}
		}
	}
}
