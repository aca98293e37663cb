// Package systemtest starts the real programs as processes, and kills, freezes
// and restarts them while people ask for seats.
package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// bin is the folder with the programs, which are built once.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "lastseat-systemtest-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(bin)
		if err := buildPrograms(bin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// buildPrograms builds api and worker into a folder. The arguments are flags
// for go build, for programs that differ from the deployed ones.
func buildPrograms(dir string, more ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-o", dir + "/"}, more...)
	cmd := exec.Command("go", append(args, "../../cmd/api", "../../cmd/worker")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := proc.RunGuarded(cmd); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, &out)
	}
	return nil
}

// site is a database and a Redis, and the processes that work on them.
type site struct {
	t     testing.TB
	url   string
	redis *redistest.Server
	env   []string // additional environment of the programs
	files int      // the programs' limit on open files; 0 = the tests' limit

	promised time.Duration // how soon after the last answer a line must be decided; 0 = no promise
}

func newSite(t testing.TB) *site {
	t.Helper()
	return &site{t: t, url: pgtest.URL(t), redis: redistest.Start(t)}
}

// process is a running program.
type process struct {
	t         testing.TB
	cmd       *exec.Cmd
	addresses chan listening
	exited    chan struct{}
	listening

	mu     sync.Mutex
	errors []string // the lines that it logged as errors
	logged []string // all lines
}

// listening is the log line of a program that listens.
type listening struct {
	Level string `json:"level"`
	Msg   string `json:"msg"`
	API   string `json:"api"`
	Admin string `json:"admin"`
}

// start starts api or worker with additional environment, and waits until it is
// ready.
func (s *site) start(program string, env ...string) *process {
	s.t.Helper()
	p := s.launch(filepath.Join(bin, program), env...)
	if !p.becomesReady() {
		s.t.Fatalf("%s ended", program)
	}
	return p
}

// launch starts the program at path with additional environment.
func (s *site) launch(path string, env ...string) *process {
	s.t.Helper()
	cmd := exec.Command(path)
	if s.files > 0 {
		cmd = exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, s.files), path)
	}
	cmd.Env = []string{
		"LASTSEAT_POSTGRES_URL=" + s.url, "LASTSEAT_REDIS_URL=" + s.redis.URL(),
		"LASTSEAT_API_SHUTDOWN_DELAY=0s",
		"LASTSEAT_API_LISTEN=127.0.0.1:0", "LASTSEAT_API_ADMIN_LISTEN=127.0.0.1:0", "LASTSEAT_WORKER_ADMIN_LISTEN=127.0.0.1:0",
	}
	cmd.Env = append(append(cmd.Env, s.env...), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := proc.StartGuarded(cmd, syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	p := &process{t: s.t, cmd: cmd, addresses: make(chan listening, 1), exited: make(chan struct{})}
	go p.read(out)
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// becomesReady waits until the program is ready. It returns false if the
// program ends first.
func (p *process) becomesReady() bool {
	p.t.Helper()
	select {
	case p.listening = <-p.addresses:
	case <-p.exited:
		return false
	case <-time.After(testwait.Limit):
		p.t.Fatalf("%s does not listen", p.cmd)
	}
	ready := false
	testwait.Until(p.t, "the program is ready", func() bool {
		select {
		case <-p.exited:
			return true
		default:
		}
		ready = p.status("/readyz") == http.StatusOK
		return ready
	})
	return ready
}

// read reads the program's log: the addresses it listens on, and the errors.
func (p *process) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.logged = append(p.logged, lines.Text())
		p.mu.Unlock()
		var l listening
		switch err := json.Unmarshal(lines.Bytes(), &l); {
		case err != nil:
		case l.Msg == "listening":
			p.addresses <- l
		case l.Level == "ERROR":
			p.mu.Lock()
			p.errors = append(p.errors, lines.Text())
			p.mu.Unlock()
		}
	}
	_ = proc.WaitGuarded(p.cmd)
	close(p.exited)
}

// status returns the status of an answer of the admin listener, or 0 if there
// is none.
func (p *process) status(path string) int {
	answer, err := http.Get("http://" + p.Admin + path)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// stop stops the program with SIGTERM, and requires exit status 0.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(testwait.Limit):
		p.t.Fatal("the program does not stop")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("exit status %d", code)
	}
}

// requireSettled waits until the run's line is decided, and checks it against
// the rules and against the clients' answers.
func (s *site) requireSettled(run string, seats int, answers []told) {
	s.t.Helper()
	s.requireDecided(run)
	pgtest.RequireSound(s.t, s.url)
	line := make(map[string]bool)
	for _, each := range pgtest.Query[string](s.t, s.url, `SELECT id || ' ' || ticket FROM requests`) {
		line[each] = true
	}
	told := make(map[int64]bool)
	for n, a := range answers {
		if told[a.Ticket] {
			s.t.Errorf("two people got ticket %d", a.Ticket)
		}
		told[a.Ticket] = true
		if !line[fmt.Sprintf("%s %d", a.ID, a.Ticket)] {
			s.t.Errorf("person %d got ticket %d, which the line does not have", n, a.Ticket)
		}
	}
	if len(line) != len(answers) {
		s.t.Errorf("%d requests are in the line for %d people", len(line), len(answers))
	}
	// The seats belong to the smallest tickets.
	if last := pgtest.Query[int64](s.t, s.url, `SELECT max(ticket) FROM requests WHERE status = 'confirmed'`)[0]; last != int64(seats) {
		s.t.Errorf("the last ticket with a seat is %d, want %d", last, seats)
	}
}

// requireDecided waits until the run's line is decided.
func (s *site) requireDecided(run string) {
	s.t.Helper()
	began := time.Now()
	testwait.Until(s.t, "the line is decided", func() bool {
		return pgtest.Query[bool](s.t, s.url, `
			SELECT l.last_ticket = r.settled_ticket FROM runs r JOIN lines l ON l.run_id = r.id WHERE r.slug = $1`, run)[0]
	})
	if s.promised > 0 {
		testwait.Promised(s.t, "deciding the line after the last answer", time.Since(began), s.promised)
	}
}
