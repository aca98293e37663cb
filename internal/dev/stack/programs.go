package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/provide"
)

// Build compiles api, worker and the packages into the folder's bin. What has just
// been built is only linked there: the instance keeps it when others are built.
func (t *Tool) Build(ctx context.Context, f *Folder, packages ...string) error {
	if built := t.Getenv(provide.BuiltVariable); built != "" && len(packages) == 0 {
		return linkPrograms(built, f.Join("bin"))
	}
	t.Log.Printf("building api and worker")
	return t.BuildIn(ctx, t.Root, f.Join("bin"), packages...)
}

// linkPrograms links api and worker into the folder programs.
func linkPrograms(built, programs string) error {
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"api", "worker"} {
		path := filepath.Join(programs, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Link(filepath.Join(built, name), path); err != nil {
			return fmt.Errorf("taking the built programs: %w", err)
		}
	}
	return nil
}

// BuildIn compiles the programs of the module in root into the folder programs.
func (t *Tool) BuildIn(ctx context.Context, root, programs string, packages ...string) error {
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return err
	}
	out := t.Log.Lines("dev")
	err := proc.Run(ctx, proc.Command{
		Name: "go build", Dir: root, Stdout: out, Stderr: out, StopSignal: syscall.SIGINT,
		Env: append(os.Environ(), "CGO_ENABLED=0"), // a C compiler that comes later changes nothing
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
	ports, err := t.choosePorts(o)
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
