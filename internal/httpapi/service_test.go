package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/httpapi"
	"github.com/lastseat/lastseat/internal/httpserver"
	"github.com/lastseat/lastseat/internal/intake"
	"github.com/lastseat/lastseat/internal/keyring"
	"github.com/lastseat/lastseat/internal/lane"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
	"github.com/lastseat/lastseat/internal/pubsub"
	"github.com/lastseat/lastseat/internal/redistest"
	"github.com/lastseat/lastseat/internal/watch"
)

const (
	maxBodyBytes = 4096
	maxPolls     = 5
	redisTimeout = time.Second
)

// place is where a service runs. The zero place has a database of its own and
// no Redis: what it accepts stays queued until the test settles it.
type place struct {
	database      string            // "" = a new one
	through       string            // how the service reaches it, "" = directly
	redis         *redistest.Server // nil = none
	commitTimeout time.Duration     // 0 = longer than a busy machine needs
	maxWait       time.Duration     // 0 = 25 seconds
	waiting       int               // requests that may wait for a commit, 0 = 8192
	// catalogue stands before the real one, nil = nothing does.
	catalogue func(httpapi.Catalogue) httpapi.Catalogue
	intake    func(httpapi.Intake) httpapi.Intake // likewise
}

// service is one API process, put together as cmd/api does it, except that it
// lives in the test. It stops when the test ends.
type service struct {
	*client
	t        testing.TB
	place    place
	log      *logBook
	store    *postgres.Store // of the test, directly at the database
	watch    *watch.Watch
	reads    *countingReader
	registry *prometheus.Registry
	server   *http.Server
	routes   gin.RoutesInfo
	end      func() // ends all held polls
}

func start(t testing.TB, p place) *service {
	t.Helper()
	if p.database == "" {
		p.database = pgtest.URL(t)
	}
	if p.through == "" {
		p.through = p.database
	}
	if p.commitTimeout == 0 {
		p.commitTimeout = 30 * time.Second
	}
	if p.waiting == 0 {
		p.waiting = 8192
	}
	if p.catalogue == nil {
		p.catalogue = func(c httpapi.Catalogue) httpapi.Catalogue { return c }
	}
	if p.intake == nil {
		p.intake = func(in httpapi.Intake) httpapi.Intake { return in }
	}
	if p.maxWait == 0 {
		p.maxWait = 25 * time.Second
	}
	s := &service{t: t, place: p, log: &logBook{}, registry: prometheus.NewRegistry()}
	t.Cleanup(s.check) // after everything has stopped
	s.store = pgtest.Open(t, p.database)
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ledger, store := pgtest.Open(t, p.through), pgtest.Open(t, p.through)

	s.reads = &countingReader{Reader: store}
	s.watch = watch.New(s.reads, watch.Limits{Total: 10_000, PerRegistration: maxPolls}, log)
	s.end = sync.OnceFunc(s.watch.End)
	// Clean-ups run backwards: what is started first here stops last, in the
	// order of cmd/api.
	run(t, s.watch.Run)
	notify := func(enroll.Bundle) {}
	if p.redis != nil {
		messages := openRedis(t, p.redis)
		run(t, func(ctx context.Context) error {
			return pubsub.ListenSettled(ctx, messages, log, s.watch.RefreshAll, func(m pubsub.Settled) { s.watch.Settled(m.RunID, m.First, m.Last) })
		})
		sender := lane.NewSender(messages, redisTimeout, 0, log, s.registry)
		run(t, sender.Run)
		notify = sender.Notify
	}
	in := intake.New(ledger, intake.Options{Committers: 2, Waiting: p.waiting, Batch: 500, CommitTimeout: p.commitTimeout}, notify, log, s.registry)
	run(t, in.Run)

	if s.sql(`SELECT count(*)::text FROM accounts WHERE email_key = 'admin@example.org'`)[0] == "0" {
		pgtest.AddAdmin(t, p.database)
	}
	keys := keyring.New(pgtest.Open(t, p.through), log)
	run(t, keys.Run)
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	api, err := httpapi.New(httpapi.Ports{
		Catalogue: p.catalogue(store), Intake: p.intake(in), Watch: s.watch, Outbox: store, Line: store, Keyring: keys, Accounts: store, Audit: store, Editor: store,
	}, httpapi.Options{
		PublicURL: url, Organiser: calendar.Organiser{Name: "Lastseat", Address: "seats@example.org"}, MaxBodyBytes: maxBodyBytes, MaxWait: p.maxWait,
		Corrected: func(run enroll.RunID, ticket int64) { s.watch.Settled(run, ticket, ticket) },
	}, log, s.registry)
	if err != nil {
		t.Fatal(err)
	}
	s.routes = api.(*gin.Engine).Routes()
	server.Config.Handler = api
	httpserver.Prepare(server.Config)
	server.Config.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	server.Start()
	s.server = server.Config
	s.client = newClient(t, url, s.log)
	t.Cleanup(func() {
		s.end()
		s.client.close()
		server.Close()
	})
	return s
}

// run runs something long-lived until the test ends.
func run(t testing.TB, something func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() {
		if err := something(ctx); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Cleanup(func() { cancel(); g.Wait() })
}

// check asserts what must hold after every test, whatever it did.
func (s *service) check() {
	s.t.Helper()
	s.assertDense()
	if found := s.log.secret(); found != "" {
		s.t.Errorf("the log holds the id of a registration:\n%s", found)
	}
	if s.t.Failed() {
		text := s.log.String()
		s.t.Logf("the end of the log:\n%s", text[max(len(text)-4000, 0):])
	}
}

// assertDense asserts that the tickets of every line are 1, 2, 3 … and that
// accepted_at never runs backwards along them.
func (s *service) assertDense() {
	s.t.Helper()
	for _, wrong := range pgtest.Query[string](s.t, s.place.database, `
		SELECT r.slug FROM runs r JOIN lines l ON l.run_id = r.id LEFT JOIN requests q ON q.run_id = r.id
		GROUP BY r.slug, l.last_ticket
		HAVING count(q.ticket) <> l.last_ticket OR coalesce(max(q.ticket), 0) <> l.last_ticket
		UNION ALL
		SELECT slug FROM (
			SELECT r.slug, accepted_at < lag(accepted_at) OVER (PARTITION BY run_id ORDER BY ticket) AS back
			FROM requests q JOIN runs r ON r.id = q.run_id
		) steps WHERE back`) {
		s.t.Errorf("the line of %s has a hole, or its clock ran backwards", wrong)
	}
}

// sql returns the first column of the rows.
func (s *service) sql(query string, args ...any) []string {
	s.t.Helper()
	return pgtest.Query[string](s.t, s.place.database, query, args...)
}

func (s *service) exec(statement string, args ...any) {
	s.t.Helper()
	pgtest.Exec(s.t, s.place.database, statement, args...)
}

// settle decides everything that waits in the lines, without a worker, and tells
// the watch.
func (s *service) settle() {
	s.t.Helper()
	backlogs, err := s.store.Backlogs(s.t.Context(), nil, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, b := range backlogs {
		for more := true; more; {
			progress, err := s.store.Settle(s.t.Context(), []enroll.RunID{b.RunID}, enrolltest.SettleLimits(500))
			if err != nil {
				s.t.Fatal(err)
			}
			p := progress[b.RunID]
			s.watch.Settled(b.RunID, p.ChangedFrom, p.Last)
			more = p.More
		}
	}
}

// countingReader counts the reads of registrations.
type countingReader struct {
	watch.Reader
	calls, ids atomic.Int64
}

func (r *countingReader) Registrations(ctx context.Context, ids []uuid.UUID) ([]enroll.Registration, error) {
	found, err := r.Reader.Registrations(ctx, ids)
	r.calls.Add(1)
	r.ids.Add(int64(len(ids)))
	return found, err
}
