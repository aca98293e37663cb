package stack

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
)

// Build compiles api, worker and the packages into the folder's bin.
func (t *Tool) Build(ctx context.Context, f *Folder, packages ...string) error {
	return t.BuildIn(ctx, t.Root, f.Join("bin"), packages...)
}

// BuildIn compiles the programs of the module in root into the folder programs.
func (t *Tool) BuildIn(ctx context.Context, root, programs string, packages ...string) error {
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return err
	}
	out := t.Log.Lines("dev")
	err := proc.Run(ctx, proc.Command{
		Name: "go build", Dir: root, Stdout: out, Stderr: out, StopSignal: syscall.SIGINT,
		// Without -buildvcs=false, the build fails where git does not trust the folder,
		// as for root in another user's tree.
		Args: append([]string{"go", "build", "-buildvcs=false", "-o", programs + "/", "./cmd/api", "./cmd/worker"}, packages...),
	})
	if err != nil {
		return fmt.Errorf("building api and worker: %w", err)
	}
	return nil
}

// program returns the path of api or worker.
func (o Options) program(f *Folder, name string) string {
	return filepath.Join(cmp.Or(o.Programs, f.Join("bin")), name)
}

// env returns the environment of API and worker, without their ports.
func (s *Stack) env(o Options) []string {
	env := append(os.Environ(), "LASTSEAT_POSTGRES_URL="+s.PostgresURL, "LASTSEAT_REDIS_URL="+s.RedisURL, "LASTSEAT_LOG_FORMAT=text",
		"LASTSEAT_MAIL_SERVER="+s.MailServer)
	if !o.Foreign {
		env = append(env, "LASTSEAT_API_SHUTDOWN_DELAY=0s") // there is no load balancer
	}
	return append(env, o.Env...)
}

// Migrate brings the stack's database up to date.
func (t *Tool) Migrate(ctx context.Context, f *Folder, s *Stack, o Options) error {
	t.Log.Printf("migrating the database")
	out := t.Log.Lines("api")
	err := proc.Run(ctx, proc.Command{
		Name: "api migrate", Args: []string{o.program(f, "api"), "migrate"}, Dir: t.Root, Env: s.env(o), Stdout: out, Stderr: out,
	})
	if err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}

// StartPrograms starts worker and API on a database that is up to date and waits
// until both are ready.
func (t *Tool) StartPrograms(ctx context.Context, g *proc.Group, f *Folder, s *Stack, o Options) error {
	lock, err := t.LockPorts(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	ports, err := t.choosePorts(o.KnownPorts)
	if err != nil {
		return err
	}
	s.APIURL, s.APIAdminURL, s.WorkerAdminURL = "http://"+ports[0], "http://"+ports[1], "http://"+ports[2]
	env := append(s.env(o),
		"LASTSEAT_API_LISTEN="+ports[0], "LASTSEAT_API_ADMIN_LISTEN="+ports[1], "LASTSEAT_API_PUBLIC_URL="+s.APIURL,
		"LASTSEAT_WORKER_ADMIN_LISTEN="+ports[2],
	)

	t.Log.Printf("starting worker and api")
	// In this order, because a group stops in the opposite one: the API takes no more
	// requests, then the lanes finish.
	var started []*proc.Process
	for _, part := range []proc.Part{proc.PartWorker, proc.PartAPI} {
		name := string(part)
		out := t.Log.Lines(name)
		p, err := proc.Start(proc.Command{
			Name: name, Args: []string{o.program(f, name)}, Dir: t.Root, Env: env, Stdout: out, Stderr: out, Grace: time.Minute,
		})
		if err != nil {
			return err
		}
		g.Add(p)
		started = append(started, p)
	}
	for i, admin := range []string{s.WorkerAdminURL, s.APIAdminURL} {
		ready := func(ctx context.Context) error { return Ready(ctx, admin) }
		if err := proc.AwaitReady(ctx, started[i], time.Minute, ready); err != nil {
			return err
		}
	}
	return nil
}

// LockPorts lets one instance at a time choose ports and listen on them: two that
// start together would choose the same. Closing the file releases the lock.
func (t *Tool) LockPorts(ctx context.Context) (*os.File, error) {
	return awaitLock(ctx, t.dotDev("ports.lock"))
}

// choosePorts returns three addresses on which no program listens: for the API,
// its admin listener and the worker's admin listener.
func (t *Tool) choosePorts(known bool) ([]string, error) {
	var addresses []string
	for i, name := range []string{"the API", "the API's admin listener", "the worker's admin listener"} {
		if wanted := fmt.Sprintf("127.0.0.1:%d", 8080+i); known {
			if l, err := net.Listen("tcp", wanted); err == nil {
				l.Close()
				addresses = append(addresses, wanted)
				continue
			}
			t.Log.Printf("%s is in use: %s gets another port", wanted, name)
		}
		for {
			port, err := proc.FreePort()
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

// Ready asks the admin listener at the URL whether its program is ready.
func Ready(ctx context.Context, admin string) error { return getOK(ctx, admin+"/readyz") }

// Live asks the admin listener at the URL whether its program is alive.
func Live(ctx context.Context, admin string) error { return getOK(ctx, admin+"/livez") }

func getOK(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
