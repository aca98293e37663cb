package systemtest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestPrograms(t *testing.T) {
	t.Parallel()

	t.Run("keep serving after SIGTERM until balancers have noticed, and hold no poll", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", nil)
		api := s.start("api", "LASTSEAT_API_SHUTDOWN_DELAY=12s")
		var asked told
		if err := s.ask(api, "a", 1, &asked); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		api.signal(syscall.SIGTERM)
		testwait.Until(t, "/readyz answers 503", func() bool { return api.status("/readyz") == http.StatusServiceUnavailable })
		for n := 2; time.Since(began) < 4*time.Second; n++ {
			var other, polled told
			if err := s.ask(api, "a", n, &other); err != nil {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+api.API+"/v1/registrations/"+asked.ID.String()+"?wait=25", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := do(r, http.StatusOK, &polled); err != nil || polled.Status != "queued" {
				t.Fatalf("a poll after %s got %+v, %v", time.Since(began), polled, err)
			}
			if status := api.status("/livez"); status != http.StatusOK {
				t.Fatalf("/livez answers %d", status)
			}
		}
		<-api.exited
		if code := api.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit status %d", code)
		}
	})

	t.Run("end at once at the second SIGTERM", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		api := s.start("api", "LASTSEAT_API_SHUTDOWN_DELAY=5m")
		api.signal(syscall.SIGTERM)
		testwait.Until(t, "/readyz answers 503", func() bool { return api.status("/readyz") == http.StatusServiceUnavailable })
		api.signal(syscall.SIGTERM)
		testwait.Receive(t, "it ends", api.exited)
	})

	t.Run("survive SIGHUP and the end of their log's reader", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for _, program := range []string{"api", "worker"} {
			p := s.start(program)
			p.signal(syscall.SIGHUP)
			p.signal(syscall.SIGPIPE)
			p.stop() // with status 0
		}
	})

	t.Run("report every fault of their configuration, and exit with 1", func(t *testing.T) {
		t.Parallel()
		for _, program := range []string{"api", "worker"} {
			code, out := runProgram(t, []string{"LASTSEAT_LOG_LEVEL=loud", "LASTSEAT_TYPO=1"}, program)
			for _, want := range []string{"LASTSEAT_POSTGRES_URL", "LASTSEAT_LOG_LEVEL", "LASTSEAT_TYPO"} {
				if code != 1 || !strings.Contains(out, want) {
					t.Errorf("%s: status %d, and does not speak of %s: %s", program, code, want, out)
				}
			}
		}
	})

	t.Run("print their usage, and exit with 2 if they are called wrongly", func(t *testing.T) {
		t.Parallel()
		for _, program := range []string{"api", "worker"} {
			if code, out := runProgram(t, nil, program, "-help"); code != 0 || !strings.Contains(out, "usage: "+program) {
				t.Errorf("%s -help: status %d: %s", program, code, out)
			}
			if code, out := runProgram(t, nil, program, "dance"); code != 2 || !strings.Contains(out, "usage: "+program) {
				t.Errorf("%s dance: status %d: %s", program, code, out)
			}
		}
	})

	t.Run("migrate and answer health checks", func(t *testing.T) {
		t.Parallel()
		s := &site{t: t, url: pgtest.EmptyURL(t)}
		env := []string{"LASTSEAT_POSTGRES_URL=" + s.url}
		if code, out := runProgram(t, env, "api", "migrate"); code != 0 {
			t.Errorf("migrate: status %d: %s", code, out)
		}
		if code, _ := runProgram(t, append(env, "LASTSEAT_API_ADMIN_LISTEN=127.0.0.1:1"), "api", "healthcheck"); code != 1 {
			t.Errorf("healthcheck of nothing: status %d", code)
		}
	})
}

// TestTimingProgramsThatStop checks that the programs stop in order with status
// 0, and that a held poll gets its answer.
func TestTimingProgramsThatStop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", nil)
	api := s.start("api")
	var asked, polled told
	if err := s.ask(api, "a", 1, &asked); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+api.API+"/v1/registrations/"+asked.ID.String()+"?wait=25", nil)
		if err == nil {
			err = do(r, http.StatusOK, &polled)
		}
		answer <- err
	}()
	testwait.Until(t, "the poll is held", func() bool { return api.metric("lastseat_people_waiting") == 1 }) // there is no worker
	began := time.Now()
	api.stop()
	if err := <-answer; err != nil || polled.Status != "queued" {
		t.Errorf("the poll got %+v, %v", polled, err)
	}
	testwait.Promised(t, "stopping", time.Since(began), 5*time.Second)
	worker := s.start("worker")
	worker.stop()
}

func runProgram(t *testing.T, env []string, program string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Env = append([]string{}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := proc.RunGuarded(cmd)
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode(), out.String()
	} else if err != nil {
		t.Fatal(err)
	}
	return 0, out.String()
}
