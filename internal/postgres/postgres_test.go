package postgres_test

import (
	"testing"

	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) { testwait.Main(m) }

// requireDense checks the lines, which must hold so many requests.
func requireDense(t testing.TB, url string, requests int64) {
	t.Helper()
	if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0]; n != requests {
		t.Errorf("%d requests are in the lines, want %d", n, requests)
	}
	pgtest.RequireSound(t, url)
}
