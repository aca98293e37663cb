package systemtest

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// TestARushThroughATransactionPooler checks that with prepared_statements false
// and a direct lock_url, everything works behind Debian's pgbouncer as it does
// without, even when pgbouncer gives one session to many clients.
func TestARushThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	const people, seats = 300, 30
	s := newSite(t)
	s.env = throughPooler(t, s.url, "default_pool_size = 3")
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", enrolltest.Seats(seats))
	apis := []*process{s.start("api"), s.start("api")}
	workers := []*process{s.start("worker"), s.start("worker")}
	told := s.rush("a", people, apis, func() {
		workers[0].stop() // its lanes go to the other, by locks on a direct connection
	})
	s.requireSettled("a", seats, told)
}

// throughPooler starts a pooler and returns the environment with which the
// programs use it.
func throughPooler(t *testing.T, url string, settings ...string) []string {
	t.Helper()
	return []string{
		"LASTSEAT_POSTGRES_URL=" + pgtest.Through(t, pgtest.StartPooler(t, settings...), url),
		"LASTSEAT_POSTGRES_LOCK_URL=" + url,
		"LASTSEAT_POSTGRES_PREPARED_STATEMENTS=false",
	}
}

// TestAStartInTheWrongMode checks that a program with the wrong pooling mode
// does not start, and names the setting to change.
func TestAStartInTheWrongMode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	right := throughPooler(t, s.url)
	pooler := strings.TrimPrefix(right[0], "LASTSEAT_POSTGRES_URL=")
	for _, test := range []struct {
		program string
		args    []string
		wrong   string
		named   string
	}{
		{"api", nil, "LASTSEAT_POSTGRES_PREPARED_STATEMENTS=true", "postgres.prepared_statements"},
		{"worker", nil, "LASTSEAT_POSTGRES_PREPARED_STATEMENTS=true", "postgres.prepared_statements"},
		{"worker", nil, "LASTSEAT_POSTGRES_LOCK_URL=" + pooler, "postgres.lock_url"},
		{"api", []string{"migrate"}, "LASTSEAT_POSTGRES_LOCK_URL=" + pooler, "postgres.lock_url"},
	} {
		cmd := exec.Command(bin+"/"+test.program, test.args...)
		cmd.Env = append(append(cmd.Env, right...), test.wrong, "LASTSEAT_REDIS_URL="+s.redis.URL(),
			"LASTSEAT_API_LISTEN=127.0.0.1:0", "LASTSEAT_API_ADMIN_LISTEN=127.0.0.1:0", "LASTSEAT_WORKER_ADMIN_LISTEN=127.0.0.1:0")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := proc.StartGuarded(cmd, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- proc.WaitGuarded(cmd) }()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(said.String(), test.named) {
				t.Errorf("%s with %s: %v, and it does not name %s:\n%s", test.program, test.wrong, err, test.named, said.String())
			}
		case <-time.After(testwait.Limit):
			_ = cmd.Process.Kill()
			<-ended
			t.Errorf("%s with %s starts", test.program, test.wrong)
		}
	}
}
