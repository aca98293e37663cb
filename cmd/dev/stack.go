package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stack is a running lastseat: services, API and worker. As stack.json it lies in the instance's folder while it runs,
// for other processes to find.
type stack struct {
	services
	APIURL         string       `json:"api_url"`
	APIAdminURL    string       `json:"api_admin_url"`
	WorkerAdminURL string       `json:"worker_admin_url"`
	MailURL        string       `json:"mail_url"`        // the page of the mail sink
	MailServer     string       `json:"mail_server"`     // its SMTP server, host:port
	OrganiserToken string       `json:"organiser_token"` // a new one at every start
	Processes      map[part]int `json:"processes"`       // of api, worker and those services that are its own
	Folder         string       `json:"folder"`          // absolute; api and worker are in its bin, the logs of the services beside it
}

const stackFile = "stack.json"

// stackOptions are what differs between the uses of a stack.
type stackOptions struct {
	name       string   // of the instance folder, .dev/<name>
	scratch    bool     // begin without data, and leave none
	knownPorts bool     // 8080, 8081 and 8082 if they are free; else any
	programs   string   // the folder of api and worker; empty = bin in the instance's
	another    bool     // the programs are of another commit, which may not know every setting
	env        []string // more environment for api and worker, as NAME=value
}

// program returns the path of api or worker.
func (o stackOptions) program(f *folder, name string) string {
	return filepath.Join(cmp.Or(o.programs, f.join("bin")), name)
}

// withStack builds and starts a stack, calls body when it is ready, and stops it when body returns. The context of body
// is done on a signal, or when a part of the stack has died; then that is what withStack returns.
func (t *tool) withStack(ctx context.Context, o stackOptions, body func(context.Context, *stack) error) error {
	sink, err := t.startSink(o.knownPorts)
	if err != nil {
		return wrap("starting the mail sink", err)
	}
	defer sink.stop() // the last: until then the worker may be sending
	return t.withFolder(ctx, o.name, o.scratch, func(ctx context.Context, family *family, f *folder) error {
		s := newStack(f, sink)
		t.log.printf("this is instance %s: data and logs are in %s", filepath.Base(f.path), f.path)
		t.log.printf("building api and worker")
		if err := t.build(ctx, f); err != nil {
			return err
		}
		var err error
		s.services, err = t.startServices(ctx, family, f, postgresOptions{durable: true, maxConnections: 200, database: "lastseat"})
		if err != nil {
			return err
		}
		if err := t.migrate(ctx, f, s, o); err != nil {
			return err
		}
		if err := t.startPrograms(ctx, family, f, s, o); err != nil {
			return err
		}
		s.Processes = family.pids()
		if err := s.publish(f); err != nil {
			return err
		}
		defer func() { _ = os.Remove(f.join(stackFile)) }() // without its lock it counts for nothing
		return body(ctx, s)
	})
}

func newStack(f *folder, sink *sink) *stack {
	return &stack{Folder: f.path, MailURL: "http://" + sink.page, MailServer: sink.server, OrganiserToken: rand.Text()}
}

// build compiles the two programs into the folder, and what else is named.
func (t *tool) build(ctx context.Context, f *folder, more ...string) error {
	return t.buildIn(ctx, t.root, f.join("bin"), more...)
}

// buildIn compiles the programs of the module in root.
func (t *tool) buildIn(ctx context.Context, root, programs string, more ...string) error {
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return err
	}
	out := t.log.lines("dev")
	err := runProcess(ctx, command{
		name: "go build", dir: root, stdout: out, stderr: out, stop: syscall.SIGINT,
		// Without -buildvcs=false the build fails where git does not trust the folder, as for root in another's tree.
		args: append([]string{"go", "build", "-buildvcs=false", "-o", programs + "/", "./cmd/api", "./cmd/worker"}, more...),
	})
	return wrap("building api and worker", err)
}

// programEnv is the environment of api and worker, as far as it is known before they have their ports.
func (s *stack) programEnv(o stackOptions) []string {
	env := append(os.Environ(), "LASTSEAT_POSTGRES_URL="+s.PostgresURL, "LASTSEAT_REDIS_URL="+s.RedisURL, "LASTSEAT_LOG_FORMAT=text",
		"LASTSEAT_MAIL_SERVER="+s.MailServer, "LASTSEAT_API_ORGANISER_TOKEN="+s.OrganiserToken)
	if !o.another {
		env = append(env, "LASTSEAT_API_SHUTDOWN_DELAY=0s") // there is no load balancer
	}
	return append(env, o.env...)
}

// migrate brings the stack's database up to date.
func (t *tool) migrate(ctx context.Context, f *folder, s *stack, o stackOptions) error {
	t.log.printf("migrating the database")
	api := t.log.lines("api")
	c := command{name: "api migrate", args: []string{o.program(f, "api"), "migrate"}, dir: t.root, env: s.programEnv(o), stdout: api, stderr: api}
	return wrap("migrating the database", runProcess(ctx, c))
}

// startPrograms starts worker and API on a database that is up to date and waits until both are ready.
func (t *tool) startPrograms(ctx context.Context, family *family, f *folder, s *stack, o stackOptions) error {
	env, api, worker := s.programEnv(o), t.log.lines("api"), t.log.lines("worker")

	// From choosing ports to having them, one instance at a time: two that start together would choose the same.
	lock, err := awaitLock(ctx, filepath.Join(t.root, ".dev", "ports.lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	ports, err := t.choosePorts(o.knownPorts)
	if err != nil {
		return err
	}
	s.APIURL, s.APIAdminURL, s.WorkerAdminURL = "http://"+ports[0], "http://"+ports[1], "http://"+ports[2]
	env = append(env,
		"LASTSEAT_API_LISTEN="+ports[0], "LASTSEAT_API_ADMIN_LISTEN="+ports[1], "LASTSEAT_API_PUBLIC_URL="+s.APIURL,
		"LASTSEAT_WORKER_ADMIN_LISTEN="+ports[2],
	)

	t.log.printf("starting worker and api")
	// In this order, because a family stops in the opposite one: the API takes no more requests, then the lanes finish.
	var started []*process
	for _, c := range []command{
		{name: "worker", stdout: worker, stderr: worker},
		{name: "api", stdout: api, stderr: api},
	} {
		c.args, c.dir, c.env, c.grace = []string{o.program(f, c.name)}, t.root, env, time.Minute
		p, err := startProcess(c)
		if err != nil {
			return err
		}
		family.adopt(p)
		started = append(started, p)
	}
	for i, admin := range []string{s.WorkerAdminURL, s.APIAdminURL} {
		ready := func(ctx context.Context) error { return getReady(ctx, admin) }
		if err := awaitAnswer(ctx, started[i], time.Minute, ready); err != nil {
			return err
		}
	}
	return nil
}

// choosePorts returns three addresses nobody listens on: of the API, its admin listener, the worker's admin listener.
func (t *tool) choosePorts(known bool) ([]string, error) {
	var addresses []string
	for i, name := range []string{"the API", "the API's admin listener", "the worker's admin listener"} {
		if wanted := fmt.Sprintf("127.0.0.1:%d", 8080+i); known {
			if l, err := net.Listen("tcp", wanted); err == nil {
				l.Close()
				addresses = append(addresses, wanted)
				continue
			}
			t.log.printf("%s is in use: %s gets another port", wanted, name)
		}
		for {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			if address := "127.0.0.1:" + port; !slices.Contains(addresses, address) {
				addresses = append(addresses, address)
				break
			}
		}
	}
	return addresses, nil
}

func getReady(ctx context.Context, admin string) error { return getOK(ctx, admin+"/readyz") }

func getOK(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil) //nolint:gosec // of the stack, which is ours
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r) //nolint:gosec // the same
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// publish writes stack.json. It holds passwords.
func (s *stack) publish(f *folder) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	unfinished := f.join(stackFile + ".new")
	if err := os.WriteFile(unfinished, append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, f.join(stackFile))
}

// runningStack returns the stack that runs as .dev/<name>, or else as <name>-2, <name>-3, …; an error that matches
// fs.ErrNotExist if there is none.
func runningStack(root, name string) (*stack, error) {
	files, err := filepath.Glob(filepath.Join(root, ".dev", name+"*", stackFile))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b string) int { return len(a) - len(b) })
	for _, file := range files {
		dir := filepath.Dir(file)
		if instance := filepath.Base(dir); instance != name && !strings.HasPrefix(instance, name+"-") {
			continue
		}
		// A stack.json that a dirty stop left behind has nobody who holds the lock.
		lock, err := tryLock(filepath.Join(dir, "lock"))
		if err == nil {
			lock.Close()
			continue
		}
		if !errors.Is(err, errLocked) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		s := new(stack)
		if err := json.Unmarshal(content, s); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("no stack %q is running (make run starts one): %w", name, fs.ErrNotExist)
}
