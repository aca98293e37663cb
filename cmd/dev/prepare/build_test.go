package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/devtest"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	out := new(devtest.Output)
	p := &progress{began: time.Now().Add(-90 * time.Second), errors: proc.NewConsole(out, devtest.NoEnv).Lines("go")}
	for _, piece := range []string{"go: downloading example.org/x v1.0.0\nint", "ernal/abi\nnet/http\n", "# example.org/y\ny.go:1:1: syntax error\n"} {
		if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := p.status(), "building: 2 packages compiled, 1 modules downloaded, 90 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := out.String(); got != "go     | # example.org/y\ngo     | y.go:1:1: syntax error\n" {
		t.Errorf("printed %q", got)
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	root, out := devtest.NewRoot(t), new(devtest.Output)
	for name, content := range map[string]string{
		"go.mod":            "module example.org/x\n\ngo 1.26\n",
		"cmd/good/main.go":  "package main\n\nfunc main() { println(\"good\") }\n",
		"cmd/wrong/main.go": "package main\n\nfunc main() { nothing() }\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := proc.NewConsole(out, devtest.NoEnv)
	if err := build(t.Context(), log, root, []string{"./cmd/good"}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if said, err := exec.Command(filepath.Join(root, binDir, "good")).CombinedOutput(); err != nil || string(said) != "good\n" {
		t.Errorf("the program says %q, %v", said, err)
	}
	if err := build(t.Context(), log, root, []string{"./cmd/good", "./cmd/wrong"}); err == nil || !strings.Contains(out.String(), "undefined: nothing") {
		t.Errorf("got %v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(root, binDir, "new-*")); len(left) > 0 {
		t.Errorf("a build left %s behind", left)
	}
}

// TestDependencies: prepare is the part of a first start that shows the least, so
// it must be built quickly.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		switch path {
		case "net/http", "crypto/tls", "github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9":
			t.Errorf("it imports %s", path)
		}
	}
}
