package postgres_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lastseat/lastseat/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// requireDense checks the lines, which must hold so many requests.
func requireDense(t testing.TB, url string, requests int64) {
	t.Helper()
	if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0]; n != requests {
		t.Errorf("%d requests are in the lines, want %d", n, requests)
	}
	pgtest.RequireSound(t, url)
}
