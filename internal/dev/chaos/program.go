package chaos

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
	"github.com/lastseat/lastseat/internal/faultproxy"
)

// program is an API or a worker. It keeps its ports when it is started again. A
// fault locks it, so that faults take turns.
type program struct {
	sync.Mutex
	proc.Command
	group      *proc.Group
	admin      string // the URL of its admin listener
	public     string // an API's URL
	toRedis    *faultproxy.Proxy
	toPostgres *faultproxy.Proxy
	process    *proc.Process
	logFile    string
}

// newProgram returns a program with its own connections to the services. Its mail
// timeouts are short: they decide how long the mails of a killed worker wait.
func (s *system) newProgram(f *stack.Folder, part proc.Part, number int) (*program, error) {
	name := fmt.Sprintf("%s-%d", part, number)
	p := &program{group: s.group, logFile: f.Join(name + ".log")}
	env := append(os.Environ(),
		"LASTSEAT_MAIL_SERVER="+s.sink.Server,
		"LASTSEAT_MAIL_CONNECT_TIMEOUT=1s", "LASTSEAT_MAIL_SEND_TIMEOUT=2s", "LASTSEAT_MAIL_RETRY_MIN=500ms", "LASTSEAT_MAIL_RETRY_MAX=2s",
		"LASTSEAT_MAIL_PER_SECOND=300", "LASTSEAT_API_SHUTDOWN_DELAY=0s",
		"LASTSEAT_MAIL_PACE=0s", "LASTSEAT_MAIL_CHANGE_WINDOW=1s")
	for _, service := range []struct {
		variable, url string
		proxy         **faultproxy.Proxy
	}{{"LASTSEAT_POSTGRES_URL", s.postgresURL, &p.toPostgres}, {"LASTSEAT_REDIS_URL", s.redisURL, &p.toRedis}} {
		u, err := url.Parse(service.url)
		if err != nil {
			return nil, err
		}
		if *service.proxy, err = faultproxy.Start(u.Host); err != nil {
			return nil, err
		}
		u.Host = (*service.proxy).Addr()
		env = append(env, service.variable+"="+u.String())
	}
	ports := make([]string, 2)
	for i := range ports {
		var err error
		if ports[i], err = proc.FreePort(); err != nil {
			return nil, err
		}
	}
	p.public, p.admin = "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	env = append(env, "LASTSEAT_API_LISTEN=127.0.0.1:"+ports[0], "LASTSEAT_API_PUBLIC_URL="+p.public)
	listen := "LASTSEAT_WORKER_ADMIN_LISTEN"
	if part == proc.PartAPI {
		listen = "LASTSEAT_API_ADMIN_LISTEN"
	}
	env = append(env, listen+"=127.0.0.1:"+ports[1])
	p.Command = proc.Command{
		Name: name, Args: []string{f.Join("bin", string(part))}, Dir: s.tool.Root, Env: env, Grace: time.Minute,
	}
	return p, nil
}

// start starts the program. It does not wait until the program is ready, because a
// service that it needs may be away. If the program ends by itself, chaos fails.
func (p *program) start() error {
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	p.Stdout, p.Stderr = log, log
	if p.process, err = proc.Start(p.Command); err != nil {
		return err
	}
	p.group.Add(p.process)
	return nil
}

func (p *program) ready(ctx context.Context) error { return stack.Ready(ctx, p.admin) }
func (p *program) live(ctx context.Context) error  { return stack.Live(ctx, p.admin) }
