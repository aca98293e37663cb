package provide

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/dev/devtest"
)

func fakePostgres(t *testing.T, dir, version string) {
	t.Helper()
	devtest.FakeProgram(t, filepath.Join(dir, "postgres"), "postgres (PostgreSQL) "+version)
	devtest.FakeProgram(t, filepath.Join(dir, "initdb"), "initdb (PostgreSQL) "+version)
}

func TestFindPostgres(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fakePostgres(t, in("path"), "16.2")
	fakePostgres(t, in("oldpath"), "13.14 (Debian 13.14-0)")
	devtest.FakeProgram(t, in("half/postgres"), "postgres (PostgreSQL) 17.0") // no initdb
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
		{"nowhere", in("nothing"), in("none/*/bin"), "", ErrMissing.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := FindPostgres([]string{test.path}, []string{test.elsewhere})
			devtest.CheckResult(t, got, err, test.want, test.err)
		})
	}
}

func FuzzVersionIn(f *testing.F) {
	for _, seed := range []string{"postgres (PostgreSQL) 15.20 (Debian 15.20-1)", "postgres (PostgreSQL) 19beta1", "Redis server v=7.0.15 sha=00000000", "", "PostgreSQL) .5", "v=" + strings.Repeat("9", 400), "v=0.0", "v=07.01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		version := versionIn(out)
		if version < 0 || math.IsNaN(version) || math.IsInf(version, 0) || version > 0 && !strings.Contains(string(out), "v=") && !strings.Contains(string(out), "PostgreSQL) ") {
			t.Errorf("%q tells the version %g", out, version)
		}
	})
}
