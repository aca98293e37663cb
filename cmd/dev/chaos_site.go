package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/lastseat/lastseat/internal/faultproxy"
	"github.com/lastseat/lastseat/internal/postgres"
)

// site is everything that chaos breaks: services and programs, and a proxy
// between each of the programs and each of the services.
type site struct {
	tool        *tool
	family      *family
	postgres    *breakable
	postgresURL string // past the proxies
	redis       *breakable
	redisURL    string // past the proxies
	sink        *sink
	apis        []*member
	members     []*member // apis and workers
	token       string    // the organisers'
	store       *postgres.Store
	visitors    *visitors
	disk        *disk  // the tables are on it; nil = on that of this machine
	whyNoDisk   string // of its own
}

// breakable is a service of which one fault at a time has hold.
type breakable struct {
	sync.Mutex
	*service
}

// member is one of our programs, where it stays when it is started again.
type member struct {
	sync.Mutex // of the fault that has hold of it
	command
	family   *family
	admin    string // the URL of its admin listener
	public   string // of an API: its URL
	toRedis  *faultproxy.Proxy
	toLedger *faultproxy.Proxy
	process  *process
	logPath  string
}

// How many programs there are.
const (
	chaosAPIs    = 2
	chaosWorkers = 3
)

// startSite builds and starts everything. It takes nothing from the environment:
// what it uses is going to be killed.
func (t *tool) startSite(ctx context.Context, family *family, f *folder, plan chaosPlan) (*site, error) {
	own, err := t.binaries(ctx, need{postgres: true, redis: true})
	if err != nil {
		return nil, err
	}
	t.log.printf("this is instance %s: data and logs are in %s", filepath.Base(f.path), f.path)
	t.log.printf("building api and worker")
	if err := t.build(ctx, f); err != nil {
		return nil, err
	}
	t.log.printf("starting Postgres, Redis, a mail sink, %d APIs and %d workers", chaosAPIs, chaosWorkers)
	s := &site{tool: t, family: family, token: rand.Text()}
	ledger, ledgerURL, err := startPostgres(ctx, family, f, own.postgresDir, postgresOptions{durable: true, maxConnections: 300, database: "postgres"})
	if err != nil {
		return nil, err
	}
	if ledgerURL, s.disk, s.whyNoDisk, err = giveDisk(ctx, ledgerURL, plan.seconds); err != nil {
		return nil, err
	}
	redis, redisURL, err := startRedis(ctx, family, f, own.redisServer)
	if err != nil {
		return nil, err
	}
	s.postgres, s.postgresURL, s.redis, s.redisURL = &breakable{service: ledger}, ledgerURL, &breakable{service: redis}, redisURL
	if err := giveClock(ctx, ledgerURL); err != nil {
		return nil, err
	}
	migrate := command{
		name: "api migrate", args: []string{f.join("bin", "api"), "migrate"}, dir: t.root, env: append(os.Environ(), "LASTSEAT_POSTGRES_URL="+s.postgresURL),
		stderr: t.log.lines("api"),
	}
	if err := runProcess(ctx, migrate); err != nil {
		return nil, wrap("migrating the database", err)
	}
	if s.store, err = openStore(ctx, s.postgresURL); err != nil {
		return nil, err
	}
	if s.sink, err = t.startSink(false); err != nil {
		s.store.Close()
		return nil, wrap("starting the mail sink", err)
	}
	if err := s.startMembers(ctx, f); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop ends the programs, which the family would stop in the order of their last
// start, and what the family does not know.
func (s *site) stop() {
	for _, m := range s.members {
		if m.process != nil {
			s.tool.log.printf("stopping %s", m.name)
			m.process.halt()
		}
	}
	s.sink.stop()
	s.store.Close()
	for _, m := range s.members {
		m.toLedger.Close()
		m.toRedis.Close()
	}
}

// startMembers starts the programs and waits until they are ready.
func (s *site) startMembers(ctx context.Context, f *folder) error {
	for i := range chaosAPIs + chaosWorkers {
		program, number := "worker", i-chaosAPIs+1
		if i < chaosAPIs {
			program, number = "api", i+1
		}
		m, err := s.newMember(f, program, number)
		if err != nil {
			return err
		}
		s.members = append(s.members, m)
		if program == "api" {
			s.apis = append(s.apis, m)
		}
		if err := m.start(); err != nil {
			return err
		}
	}
	for _, m := range s.members {
		if err := awaitAnswer(ctx, m.process, time.Minute, m.ready); err != nil {
			return err
		}
	}
	return nil
}

// newMember returns a program with its own ways to the services. Its mails are
// not to wait long for a worker that was killed: how long an attempt may take
// decides that.
func (s *site) newMember(f *folder, program string, number int) (*member, error) {
	name := fmt.Sprintf("%s-%d", program, number)
	m := &member{family: s.family}
	env := append(os.Environ(),
		"LASTSEAT_MAIL_SERVER="+s.sink.server, "LASTSEAT_API_ORGANISER_TOKEN="+s.token,
		"LASTSEAT_MAIL_CONNECT_TIMEOUT=1s", "LASTSEAT_MAIL_SEND_TIMEOUT=2s", "LASTSEAT_MAIL_RETRY_MIN=500ms", "LASTSEAT_MAIL_RETRY_MAX=2s",
		"LASTSEAT_MAIL_PER_SECOND=300", "LASTSEAT_API_SHUTDOWN_DELAY=0s",
		"LASTSEAT_MAIL_PACE=0s", "LASTSEAT_MAIL_CHANGE_WINDOW=1s")
	for _, way := range []struct {
		variable, url string
		proxy         **faultproxy.Proxy
	}{{"LASTSEAT_POSTGRES_URL", s.postgresURL, &m.toLedger}, {"LASTSEAT_REDIS_URL", s.redisURL, &m.toRedis}} {
		u, err := url.Parse(way.url)
		if err != nil {
			return nil, err
		}
		if *way.proxy, err = faultproxy.Start(u.Host); err != nil {
			return nil, err
		}
		u.Host = (*way.proxy).Addr()
		env = append(env, way.variable+"="+u.String())
	}
	ports := make([]string, 2)
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	m.public, m.admin = "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	env = append(env, "LASTSEAT_API_LISTEN=127.0.0.1:"+ports[0], "LASTSEAT_API_PUBLIC_URL="+m.public)
	listen := "LASTSEAT_WORKER_ADMIN_LISTEN"
	if program == "api" {
		listen = "LASTSEAT_API_ADMIN_LISTEN"
	}
	env = append(env, listen+"=127.0.0.1:"+ports[1])
	m.command = command{name: name, args: []string{f.join("bin", program)}, dir: s.tool.root, env: env, grace: time.Minute, orphaned: syscall.SIGKILL}
	m.logPath = f.join(name + ".log")
	return m, nil
}

// start starts the program, and does not wait until it is ready: what it needs
// may be away. If it ends by itself, chaos ends with that.
func (m *member) start() error {
	log, err := os.OpenFile(m.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	m.stdout, m.stderr = log, log
	p, err := startProcess(m.command)
	if err != nil {
		return err
	}
	m.process = p
	m.family.adopt(p)
	return nil
}

// awaitCalm waits until all programs are ready, for what is to break alone, and
// tells whether they are within half a minute.
func (s *site) awaitCalm(ctx context.Context) bool {
	for began := time.Now(); time.Since(began) < 30*time.Second && sleep(ctx, watchInterval); {
		calm := true
		for _, m := range s.members {
			calm = calm && m.ready(ctx) == nil
		}
		if calm {
			return true
		}
	}
	return false
}

func (m *member) ready(ctx context.Context) error { return getReady(ctx, m.admin) }
func (m *member) alive(ctx context.Context) error { return getOK(ctx, m.admin+"/livez") }

// freeze stops the process in its tracks until thaw.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }
func (p *process) thaw()   { p.signal(syscall.SIGCONT) }
