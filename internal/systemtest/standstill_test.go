package systemtest

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/testwait"
)

const (
	// namedWithin is how soon the log and the metrics name a standstill.
	namedWithin = 5 * time.Second

	// foundWithin is how soon `api doctor` names it: it overlooks what is younger
	// than doctor.Patience, and takes a moment.
	foundWithin = 7 * time.Second
)

// standstill is a cause for which the line of run "a" stands still, or could.
// docs/operations.md has the same list.
type standstill struct {
	name string
	make func(s *halt)
	// The process that names it, and the words of one line of its log.
	by  string
	log []string
	// The metric of that process, and the value that it has at least.
	metric  string
	atLeast float64
	// The words of one line of `api doctor`. Empty: the doctor cannot see it.
	doctor string
	moves  bool // the line moves all the same
	// ownPostgres says that the cause would affect other tests on a shared server.
	ownPostgres bool
}

var standstills = []standstill{
	{name: "the run's row is held", make: func(s *halt) { s.hold(`SELECT FROM runs FOR UPDATE`) },
		by: "worker", log: []string{"a line stands still", `"run":"a"`, `"ticket":2`, "(psql, idle in transaction) has held the run's row", "pg_terminate_backend("},
		metric: `lastseat_line_standing_seconds{run="a"}`, atLeast: 2, doctor: "(psql, idle in transaction) has held the run's row"},
	{name: "two sessions share the run's row", make: func(s *halt) { s.hold(`SELECT FROM runs FOR SHARE`); s.hold(`SELECT FROM runs FOR SHARE`) },
		by: "worker", log: []string{"a line stands still", `"run":"a"`, "; pid ", "(psql, idle in transaction)"},
		metric: `lastseat_line_standing_seconds{run="a"}`, atLeast: 2, doctor: "(psql, idle in transaction) has held the run's row"},
	{name: "the head of the line is held", make: func(s *halt) { s.hold(`SELECT FROM lines FOR UPDATE`) },
		by: "api", log: []string{"requests cannot be accepted", `"run":"a"`, "line_blocked"},
		metric: `lastseat_requests_refused_total{code="line_blocked"}`, atLeast: 1, doctor: "(psql, idle in transaction) has held the head of the line"},
	{name: "the backend that holds the lane's lock is frozen", ownPostgres: true, moves: true, make: func(s *halt) {
		s.server.Freeze(pgtest.Query[int](s.t, s.url, `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted`)[0])
	},
		by: "worker", log: []string{"the lane lock connection is lost"},
		metric: "lastseat_lane_locks_lost_total", atLeast: 1, doctor: "holds lane locks but has said nothing for"},
	{name: "no worker runs", make: func(s *halt) { s.processes["worker"].stop() },
		by: "api", log: []string{"no worker listens for new requests", `"run":"a"`},
		metric: "lastseat_wakes_unheard_total", atLeast: 1, doctor: "no worker seems to be alive"},
	{name: "Redis is away", moves: true, make: func(s *halt) { s.redis.Kill() },
		by: "api", log: []string{"bundles cannot be enqueued", `"run":"a"`},
		metric: `lastseat_bundles_total{result="failed"}`, atLeast: 1},
	{name: "Postgres is read-only", make: func(s *halt) {
		pgtest.Exec(s.t, s.url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
		pgtest.Query[bool](s.t, s.url, `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	},
		// The first line may tell of the connections that broke; a later one, up to ten
		// seconds after it, has "read-only".
		by: "api", log: []string{"requests cannot be accepted"},
		metric: `lastseat_requests_refused_total{code="unavailable"}`, atLeast: 1, doctor: "the server is read-only"},
	// What fits on pages that are there is still accepted, and decided.
	{name: "the disk of Postgres is full", ownPostgres: true, moves: true, make: (*halt).fillDisk,
		by: "api", log: []string{"requests cannot be accepted", "No space left on device"},
		metric: `lastseat_requests_refused_total{code="unavailable"}`, atLeast: 1},
}

// halt is a site with an api and a worker, on which a line comes to a
// standstill.
type halt struct {
	*site
	server    *pgtest.Server // nil = the shared one
	disk      string         // where the tables are, if the disk can be filled
	processes map[string]*process
}

// TestTimingALineThatStandsStillIsNamed makes each cause on a real stack.
func TestTimingALineThatStandsStillIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range standstills {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newHalt(t, c)
			c.make(s)
			began := time.Now()
			s.keepAsking()
			p := s.processes[c.by]
			testwait.Until(t, "the log names it: "+strings.Join(c.log, ", "), func() bool { return p.says(c.log) })
			testwait.Until(t, "the metric shows it", func() bool { return p.metric(c.metric) >= c.atLeast })
			testwait.Promised(t, "naming it in log and metrics", time.Since(began), namedWithin)
			if c.doctor != "" {
				testwait.Until(t, "the doctor names it: "+c.doctor, func() bool {
					code, out := runProgram(t, []string{"LASTSEAT_POSTGRES_URL=" + s.url}, "api", "doctor")
					return code == 3 && strings.Contains(out, c.doctor)
				})
				testwait.Promised(t, "finding it by the doctor", time.Since(began), foundWithin)
			}
			if c.moves {
				testwait.Until(t, "the line moves", func() bool { return s.decided() > 1 })
			} else if n := s.decided(); n != 1 {
				t.Errorf("the line is decided up to %d: it does not stand still", n)
			}
		})
	}
}

func newHalt(t *testing.T, c standstill) *halt {
	t.Helper()
	s := &halt{}
	if c.ownPostgres {
		s.server = pgtest.StartServer(t)
		s.site = &site{t: t, url: s.server.URL(), redis: redistest.Start(t)}
	} else {
		s.site = newSite(t)
	}
	if strings.Contains(c.name, "disk") {
		s.useSmallDisk()
	}
	enrolltest.OpenRun(t, pgtest.Open(t, s.url), "a", nil)
	s.processes = map[string]*process{
		"api": s.start("api"), "worker": s.start("worker", "LASTSEAT_WORKER_LANE_IDLE=1m"),
	}
	s.askAndWait(s.processes["api"], "a", 1)
	return s
}

// hold takes a row's lock as a person does who forgets a transaction.
func (s *halt) hold(sql string) {
	s.t.Helper()
	pgtest.Hold(s.t, s.url, "SET LOCAL application_name = 'psql'; "+sql)
}

// keepAsking asks for a seat every now and then until the test ends.
func (s *halt) keepAsking() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 2; ; n++ {
			var answer told
			_ = s.ask(s.processes["api"], "a", n, &answer) // may be refused
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	s.t.Cleanup(func() { close(stop); <-stopped })
}

func (s *halt) decided() int64 {
	s.t.Helper()
	return pgtest.Query[int64](s.t, s.url, `SELECT settled_ticket FROM runs WHERE slug = 'a'`)[0]
}

// useSmallDisk moves to a database on a disk that can be filled.
func (s *halt) useSmallDisk() {
	s.t.Helper()
	data := pgtest.Query[string](s.t, s.url, `SHOW data_directory`)[0]
	s.disk = data + "-small"
	if err := os.Mkdir(s.disk, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := cluster.MountMemory(s.disk, 256<<20); err != nil {
		s.t.Skipf("a small disk cannot be mounted, which takes Linux and root: %v", err)
	}
	s.t.Cleanup(func() {
		s.server.Kill() // or the disk is in use
		testwait.Until(s.t, "the small disk is unmounted", func() bool { return cluster.UnmountMemory(s.disk) == nil })
	})
	if err := chownLike(s.disk, data); err != nil {
		s.t.Fatal(err)
	}
	pgtest.Exec(s.t, s.url, `CREATE TABLESPACE small LOCATION '`+s.disk+`'`)
	pgtest.Exec(s.t, s.url, `CREATE DATABASE small TABLESPACE small`)
	s.url = strings.Replace(s.url, "/postgres?", "/small?", 1)
	if _, err := postgres.Migrate(s.t.Context(), s.url, pgtest.Options); err != nil {
		s.t.Fatal(err)
	}
}

// fillDisk makes the disk as small as its content: no table can grow.
func (s *halt) fillDisk() {
	s.t.Helper()
	testwait.Until(s.t, "the disk is full", func() bool {
		used, err := cluster.UsedMemory(s.disk)
		return err == nil && cluster.ResizeMemory(s.disk, used) == nil
	})
}

// says returns whether a line of the program's log has all the words.
func (p *process) says(words []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.logged {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

// chownLike gives a path to the owner of another one.
func chownLike(path, other string) error {
	info, err := os.Stat(other)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
