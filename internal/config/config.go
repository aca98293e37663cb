// Package config owns the settings of all Lastseat processes: their names, meanings, defaults and bounds, and how they
// are read: defaults, then a strict YAML file, then LASTSEAT_… environment variables, then one validation that reports
// every fault at once. It only describes; it opens no connection and knows nothing of the packages it configures.
//
// The key of a setting follows from the struct tags (Postgres.MaxConns is postgres.max_conns), the variable from the key
// (LASTSEAT_POSTGRES_MAX_CONNS). A bounds tag gives the smallest and the largest value allowed, both inclusive.
package config

import "time"

// Config holds every setting. Get one from Load; Default lacks the required Postgres.URL.
type Config struct {
	// Log says what is logged, and how.
	Log Log `yaml:"log"`
	// Postgres says how the ledger is reached.
	Postgres Postgres `yaml:"postgres"`
	// Redis says how the queues and the pub/sub channels are reached.
	Redis Redis `yaml:"redis"`
	// API configures the HTTP server of cmd/api.
	API API `yaml:"api"`
	// Intake configures how cmd/api commits accepted requests.
	Intake Intake `yaml:"intake"`
	// Worker configures the lanes and sweeps of cmd/worker.
	Worker Worker `yaml:"worker"`
	// Settle configures how cmd/worker decides the lines of its lanes.
	Settle Settle `yaml:"settle"`
	// Mail configures what cmd/worker sends by e-mail, and through which server.
	Mail Mail `yaml:"mail"`
}

// Log says what is logged, and how.
type Log struct {
	// Level is the least severe level that is logged: debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is json (one object a line) or text (key=value, for reading in a terminal).
	Format string `yaml:"format"`
}

// Postgres says how the ledger is reached. The timeouts hold for every connection of the pool.
type Postgres struct {
	// URL is the connection URL, postgres://user:password@host:port/database. Required.
	URL Secret `yaml:"url"`
	// LockURL is a direct connection to the same database for session-level advisory locks and `api migrate`, needed
	// where URL goes through a transaction pooler: poolers break session locks. Given empty, Load fills in URL.
	LockURL Secret `yaml:"lock_url"`
	// PreparedStatements says whether connections to URL are kept and prepare their statements: true or false. Through a
	// transaction pooler, such as pgbouncer, it has to be false, and LockURL has to be a direct connection.
	PreparedStatements bool `yaml:"prepared_statements"`
	// MaxConns is the most connections in a process's pool, 4..500. The connection for locks is not one of them.
	MaxConns int32 `yaml:"max_conns" bounds:"4..500"`
	// ConnectTimeout is the longest that opening one connection may take, 100ms..1m.
	ConnectTimeout time.Duration `yaml:"connect_timeout" bounds:"100ms..1m"`
	// StatementTimeout is the longest that one statement may run, 100ms..5m. Not less than LockTimeout, which would
	// otherwise never be reached.
	StatementTimeout time.Duration `yaml:"statement_timeout" bounds:"100ms..5m"`
	// LockTimeout is the longest that a statement may wait for a lock, 100ms..20s, and that a batch may wait for all
	// of its lines. Less than half of Intake.CommitTimeout: the server's answer must come before a committer gives up.
	LockTimeout time.Duration `yaml:"lock_timeout" bounds:"100ms..20s"`
	// IdleInTransactionTimeout is the longest that a transaction may stay open without a statement, 100ms..5m: a frozen
	// process gives its row locks back after it.
	IdleInTransactionTimeout time.Duration `yaml:"idle_in_transaction_timeout" bounds:"100ms..5m"`
}

// Redis says how the queues and the pub/sub channels are reached.
type Redis struct {
	// URL is redis://user:password@host:port/db, rediss://… (TLS) or unix://path, as go-redis reads it.
	URL Secret `yaml:"url"`
	// Timeout is the longest that one dial, one read and one write may each take, 10ms..30s.
	Timeout time.Duration `yaml:"timeout" bounds:"10ms..30s"`
}

// API configures the HTTP server of cmd/api.
type API struct {
	// Listen is the host:port of the API. An empty host is every interface, port 0 any free port.
	Listen string `yaml:"listen"`
	// AdminListen is the host:port of health, metrics and queues. It asks for no password: keep it off public networks.
	AdminListen string `yaml:"admin_listen"`
	// AdminHosts lists the host names, without a port, by which AdminListen may be reached, in addition to IP addresses,
	// localhost and the host in AdminListen. Requests for other hosts are answered 421: a web page could make them.
	AdminHosts []string `yaml:"admin_hosts"`
	// PublicURL is the address people reach the API at, for links: http or https, without a query or credentials. Load
	// trims the slash at its end. cmd/worker needs it, too: mails have links.
	PublicURL string `yaml:"public_url"`
	// MaxBodyBytes is the largest request body, in bytes, 1024..1048576. Larger ones are answered 413.
	MaxBodyBytes int64 `yaml:"max_body_bytes" bounds:"1024..1048576"`
	// ReadHeaderTimeout is the longest that reading the header of a request may take, 100ms..1m.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" bounds:"100ms..1m"`
	// ReadTimeout is the longest that reading a whole request may take, 100ms..5m.
	ReadTimeout time.Duration `yaml:"read_timeout" bounds:"100ms..5m"`
	// IdleTimeout is how long a kept-alive connection may wait for its next request, 1s..1h.
	IdleTimeout time.Duration `yaml:"idle_timeout" bounds:"1s..1h"`
	// MaxConnections is the most connections to Listen that are open at once, 16..1000000, or fewer if the limit on open
	// files allows no more. Seven eighths of them may hold a GET with ?wait=. More are answered 503.
	MaxConnections int `yaml:"max_connections" bounds:"16..1000000"`
	// MaxPolls is the most GETs with ?wait= that are held for one registration at once, 1..1000. More are answered 503.
	MaxPolls int `yaml:"max_polls" bounds:"1..1000"`
	// ShutdownDelay is how long requests are served on when the process is told to stop, 0s..5m: until load balancers have
	// seen that it is not ready.
	ShutdownDelay time.Duration `yaml:"shutdown_delay" bounds:"0s..5m"`
	// ShutdownTimeout is how long requests in flight may take to end after ShutdownDelay, 1s..10m.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" bounds:"1s..10m"`
	// MaxWait is the longest that a GET with ?wait= is held, 0s..25s. With 0s none is held.
	MaxWait time.Duration `yaml:"max_wait" bounds:"0s..25s"`
}

// Intake configures how cmd/api commits accepted requests.
type Intake struct {
	// Committers is how many transactions are on their way at once, 1..16. Each run belongs to one committer.
	Committers int `yaml:"committers" bounds:"1..16"`
	// Waiting is how many requests may wait for a commit, 1..1000000, shared evenly by the committers. While commits are
	// slow, only as many as half of CommitTimeout suffices for. More are answered 503 at once.
	Waiting int `yaml:"waiting" bounds:"1..1000000"`
	// Batch is the most requests in one transaction, 1..5000.
	Batch int `yaml:"batch" bounds:"1..5000"`
	// CommitTimeout is how long a committer tries before it answers 503 outcome_unknown, 500ms..1m: half of it for one
	// try, and after a broken connection the rest for trying the same ids again. Who has waited that long for a commit to
	// begin is answered 503 busy in place of it.
	CommitTimeout time.Duration `yaml:"commit_timeout" bounds:"500ms..1m"`
}

// Worker configures the lanes and sweeps of cmd/worker.
type Worker struct {
	// AdminListen is the host:port of the worker's health, metrics and queues, with API.AdminListen's warning.
	AdminListen string `yaml:"admin_listen"`
	// AdminHosts is to AdminListen what API.AdminHosts is to API.AdminListen.
	AdminHosts []string `yaml:"admin_hosts"`
	// MaxLanes is the most lanes alive at once in this worker, 1..10000.
	MaxLanes int `yaml:"max_lanes" bounds:"1..10000"`
	// LaneIdle is how long a lane without work stays alive, 10ms..1m. About a second is the optimum: starting a lane
	// costs about as much as idling for one. The same for all processes: cmd/api reads it, too, since it wakes the workers
	// for one run only as often as a lane may have ended.
	LaneIdle time.Duration `yaml:"lane_idle" bounds:"10ms..1m"`
	// PollBudget is how often all lanes of this worker together look at their queues, in polls per second, 10..100000.
	PollBudget int `yaml:"poll_budget" bounds:"10..100000"`
	// SweepInterval is the time between sweeps of the runs heard of in the last minute, 100ms..1m. It is also the time
	// between two looks for mails that are due and for waiting lists that end, so a confirmation may wait for it once.
	SweepInterval time.Duration `yaml:"sweep_interval" bounds:"100ms..1m"`
	// SweepAllInterval is the time between sweeps of all runs, 100ms..10m. Not less than SweepInterval.
	SweepAllInterval time.Duration `yaml:"sweep_all_interval" bounds:"100ms..10m"`
	// ShutdownTimeout is how long lanes may take to finish what they settle when the process is told to stop, 1s..10m,
	// and mails that are being sent. Those get at least Mail.ConnectTimeout + Mail.SendTimeout + 10s: one that is broken
	// off may be sent twice.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" bounds:"1s..10m"`
}

// Settle configures how cmd/worker decides the lines of its lanes.
type Settle struct {
	// Committers is how many settling transactions may be on their way at once, 1..16: one, unless it takes longer
	// than 20 ms.
	Committers int `yaml:"committers" bounds:"1..16"`
	// Budget is the most tickets settled in one transaction, over all runs in it, 1..10000.
	Budget int `yaml:"budget" bounds:"1..10000"`
	// LateAfter is how long a decision must have taken for a refusal to be told by mail, 0s..24h. Who asks with "notify"
	// is told in any case.
	LateAfter time.Duration `yaml:"late_after" bounds:"0s..24h"`
}

// Mail configures what cmd/worker sends by e-mail, and through which server.
type Mail struct {
	// Server is the host:port of the SMTP server that takes the mail.
	Server string `yaml:"server"`
	// TLS is how the connection to it is protected: none, starttls (and nothing without it) or implicit.
	TLS string `yaml:"tls"`
	// Hello is what the worker calls itself to the server, in EHLO: some ask for a name that leads to it. Empty: the
	// host's name.
	Hello string `yaml:"hello"`
	// Username logs in to the server, with Password. Both empty: nobody logs in.
	Username string `yaml:"username"`
	// Password belongs to Username. It is not sent without TLS, except to this machine.
	Password Secret `yaml:"password"`
	// From is the address that mail comes from, with a name for those courses that name no organiser:
	// "Lastseat <seats@example.org>". cmd/api needs it, too: it is the organiser of the calendar entries of those courses.
	From string `yaml:"from"`
	// ConnectTimeout is how long it may take to connect, to agree on TLS and to log in, 100ms..2m.
	ConnectTimeout time.Duration `yaml:"connect_timeout" bounds:"100ms..2m"`
	// SendTimeout is how long the server may take for one mail, 100ms..10m. A worker that dies while it sends delays
	// that mail by about twice as long.
	SendTimeout time.Duration `yaml:"send_timeout" bounds:"100ms..10m"`
	// IdleTimeout is how long a connection is kept for the next mail, 1s..10m.
	IdleTimeout time.Duration `yaml:"idle_timeout" bounds:"1s..10m"`
	// Concurrency is how many mails this worker sends at once, 1..100.
	Concurrency int `yaml:"concurrency" bounds:"1..100"`
	// PerSecond is the most mails that this worker begins to send in a second, 1..10000. Servers have limits, and
	// sending must not take the machine away from settling.
	PerSecond int `yaml:"per_second" bounds:"1..10000"`
	// RetryMin is how long a mail waits after its first failed attempt, 100ms..1h; each further one doubles it.
	RetryMin time.Duration `yaml:"retry_min" bounds:"100ms..1h"`
	// RetryMax is the longest that a mail waits between two attempts, 100ms..24h. Not less than RetryMin.
	RetryMax time.Duration `yaml:"retry_max" bounds:"100ms..24h"`
	// GiveUpAfter is how old a mail may get before a failed attempt is its last, 1m..720h.
	GiveUpAfter time.Duration `yaml:"give_up_after" bounds:"1m..720h"`
	// RemindBefore is how long before the start of a run its reminders are sent, 0s..720h. With 0s there are none.
	RemindBefore time.Duration `yaml:"remind_before" bounds:"0s..720h"`
	// ChangeWindow is how long notices of a changed time or location wait for further changes, 0s..1h. It is a tenth of the
	// time to the nearer of the old and the new start if that is less, and a minute at most if that time is under an hour.
	ChangeWindow time.Duration `yaml:"change_window" bounds:"0s..1h"`
	// Pace is the time in which two mails about one run leave to one address, and 20 mails in all, 0s..1h. What else there
	// is to tell of the run then becomes one mail, and the rest waits. With 0s nothing waits.
	Pace time.Duration `yaml:"pace" bounds:"0s..1h"`
}

// Default returns the settings that hold where neither file nor environment says otherwise. They fit one machine.
// Postgres.URL has no default.
func Default() Config {
	return Config{
		Log: Log{
			Level:  "info",
			Format: "json",
		},
		Postgres: Postgres{
			PreparedStatements:       true,
			MaxConns:                 10,
			ConnectTimeout:           2 * time.Second,
			StatementTimeout:         5 * time.Second,
			LockTimeout:              time.Second,
			IdleInTransactionTimeout: 2 * time.Second,
		},
		Redis: Redis{
			URL:     "redis://127.0.0.1:6379/0",
			Timeout: time.Second,
		},
		API: API{
			Listen:            "127.0.0.1:8080",
			AdminListen:       "127.0.0.1:8081",
			PublicURL:         "http://127.0.0.1:8080",
			MaxBodyBytes:      16384,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxConnections:    20_000,
			MaxPolls:          10,
			ShutdownDelay:     5 * time.Second,
			ShutdownTimeout:   20 * time.Second,
			MaxWait:           25 * time.Second,
		},
		Intake: Intake{
			Committers:    2,
			Waiting:       8192,
			Batch:         500,
			CommitTimeout: 3 * time.Second,
		},
		Worker: Worker{
			AdminListen:      "127.0.0.1:8082",
			MaxLanes:         2000,
			LaneIdle:         time.Second,
			PollBudget:       4000,
			SweepInterval:    time.Second,
			SweepAllInterval: 10 * time.Second,
			ShutdownTimeout:  20 * time.Second,
		},
		Settle: Settle{
			Committers: 2,
			Budget:     512,
			LateAfter:  30 * time.Second,
		},
		Mail: Mail{
			Server:         "127.0.0.1:1025",
			TLS:            "none",
			From:           "Lastseat <lastseat@localhost>",
			ConnectTimeout: 10 * time.Second,
			SendTimeout:    30 * time.Second,
			IdleTimeout:    30 * time.Second,
			Concurrency:    4,
			PerSecond:      50,
			RetryMin:       5 * time.Second,
			RetryMax:       10 * time.Minute,
			GiveUpAfter:    72 * time.Hour,
			RemindBefore:   24 * time.Hour,
			ChangeWindow:   10 * time.Minute,
			Pace:           10 * time.Minute,
		},
	}
}

// Secret is a value that holds a password. Printing, logging or marshalling it shows only whether it is set; convert it
// with string(s) where it is used.
type Secret string

// String returns "[secret]", or "" if the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString returns what String returns, so that %#v shows no more than %v.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns what String returns, so that JSON, YAML and log/slog show no more than %v.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
