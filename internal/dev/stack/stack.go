package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// Stack is a running Lastseat: services, API and worker. While it runs, the
// instance's folder has it as stack.json, where other processes find it.
type Stack struct {
	Services
	APIURL         string            `json:"api_url"`
	APIAdminURL    string            `json:"api_admin_url"`
	WorkerAdminURL string            `json:"worker_admin_url"`
	MailURL        string            `json:"mail_url"`    // the page of the mail sink
	MailServer     string            `json:"mail_server"` // its SMTP server, host:port
	Token          string            `json:"token"`       // an admin's API token; empty until make run has made one
	Processes      map[proc.Part]int `json:"processes"`   // of API, worker and our own services
	Folder         string            `json:"folder"`      // absolute; its bin has api and worker, the services' logs are beside it
}

// New returns a stack whose programs are not started yet.
func New(f *Folder, sink *Sink) *Stack {
	return &Stack{Folder: f.Path, MailURL: "http://" + sink.Page, MailServer: sink.Server}
}

// Options are what differs between the uses of a stack.
type Options struct {
	Name       string   // of the instance's folder, .dev/<name>
	Scratch    bool     // start without data, and leave none
	KnownPorts bool     // 8080, 8081 and 8082, 8025 and 1025 where they are free; else any
	Port       int      // the API's; the four ports above it are the others'. 0: see KnownPorts
	Simulation bool     // a simulated Redis will do
	Programs   string   // the folder of api and worker; empty = bin in the instance's folder
	Foreign    bool     // the programs are another commit's, which may not know every setting
	Env        []string // more environment for API and worker, as NAME=value
}

// Run builds and starts a stack, calls body once it is ready, and stops it when
// body returns. The context of body ends with a signal, or when a part of the
// stack ends unasked; then Run returns that as an error.
func (t *Tool) Run(ctx context.Context, o Options, body func(context.Context, *Stack) error) error {
	sink, err := t.StartSink(o)
	if err != nil {
		return fmt.Errorf("starting the mail sink: %w", err)
	}
	defer sink.Stop() // last of all: until then the worker may be sending
	return t.WithFolder(ctx, o.Name, o.Scratch, func(ctx context.Context, g *proc.Group, f *Folder) error {
		s := New(f, sink)
		t.Log.Printf("this is instance %s: data and logs are in %s", filepath.Base(f.Path), f.Path)
		if err := t.Build(ctx, f); err != nil {
			return err
		}
		var err error
		if s.Services, err = t.StartServices(ctx, g, f, o.services()); err != nil {
			return err
		}
		if err := t.Migrate(ctx, f, s, o); err != nil {
			return err
		}
		if err := t.StartPrograms(ctx, g, f, s, o); err != nil {
			return err
		}
		s.Processes = g.PIDs()
		if err := s.Publish(); err != nil {
			return err
		}
		defer func() { _ = os.Remove(f.Join(stackFile)) }() // without the folder's lock it is ignored
		return body(ctx, s)
	})
}

func (o Options) services() ServiceOptions {
	s := OwnServices
	s.Simulation = o.Simulation
	return s
}

// Database is the name of a stack's database.
const Database = "lastseat"

// OwnServices are a stack's own services.
var OwnServices = ServiceOptions{Postgres: cluster.Options{Durable: true, MaxConnections: 200}, Database: Database}

// stackFile is the file in an instance's folder that describes the stack.
const stackFile = "stack.json"

// Publish writes stack.json, which only our user may read: it holds passwords.
func (s *Stack) Publish() error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	unfinished := s.File() + ".new"
	if err := os.WriteFile(unfinished, append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, s.File())
}

// File returns the path of the file that describes the stack.
func (s *Stack) File() string { return filepath.Join(s.Folder, stackFile) }
