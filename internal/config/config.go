// Package config owns the settings of all Lastseat processes: their names,
// meanings, defaults and bounds. Load reads the defaults, then a strict YAML
// file, then LASTSEAT_… environment variables, and then validates everything
// and reports every fault at once. The package opens no connection and knows
// nothing about the packages that it configures.
//
// A setting's key follows from the struct tags (Postgres.MaxConns is
// postgres.max_conns), and its variable from the key
// (LASTSEAT_POSTGRES_MAX_CONNS). A bounds tag gives the smallest and the
// largest value, both inclusive.
package config

import "time"

// Config holds every setting. Get one from Load; Default lacks the required Postgres.URL.
type Config struct {
	// Log configures the log.
	Log Log `yaml:"log"`
	// Postgres configures the connections to the ledger.
	Postgres Postgres `yaml:"postgres"`
	// Redis configures the connections to the queues and the pub/sub channels.
	Redis Redis `yaml:"redis"`
	// API configures the HTTP server of cmd/api.
	API API `yaml:"api"`
	// Intake configures how cmd/api commits the requests that it accepts.
	Intake Intake `yaml:"intake"`
	// Worker configures the lanes and sweeps of cmd/worker.
	Worker Worker `yaml:"worker"`
	// Settle configures how cmd/worker decides lines.
	Settle Settle `yaml:"settle"`
	// Mail configures what cmd/worker sends, and through which server.
	Mail Mail `yaml:"mail"`
}

// Log configures the log.
type Log struct {
	// Level is the lowest level that is logged: debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is json (one object per line) or text (key=value, for a terminal).
	Format string `yaml:"format"`
}

// Postgres configures the connections to the ledger. The timeouts apply to
// every connection in a pool.
type Postgres struct {
	// URL is postgres://user:password@host:port/database. Required.
	URL Secret `yaml:"url"`
	// LockURL is a direct connection to the same database, for session-level
	// advisory locks and for `api migrate`. It is needed if URL leads to a
	// transaction pooler, since a session lock does not survive a pooler. If it
	// is empty, Load sets it to URL.
	LockURL Secret `yaml:"lock_url"`
	// PreparedStatements says whether statements are prepared on the
	// connections to URL: true or false. It must be false if URL leads to a
	// transaction pooler such as pgbouncer.
	PreparedStatements bool `yaml:"prepared_statements"`
	// MaxConns is the most connections in a process's pool, 4..500. An api
	// opens Intake.Committers more, and a worker one more for lane locks.
	MaxConns int32 `yaml:"max_conns" bounds:"4..500"`
	// ConnectTimeout is the longest that opening a connection may take,
	// 100ms..1m.
	ConnectTimeout time.Duration `yaml:"connect_timeout" bounds:"100ms..1m"`
	// StatementTimeout is the longest that a statement may run, 100ms..5m. At
	// least LockTimeout.
	StatementTimeout time.Duration `yaml:"statement_timeout" bounds:"100ms..5m"`
	// LockTimeout is the longest that a statement may wait for a lock,
	// 100ms..20s. It also bounds the whole time that an accepting transaction
	// waits for its lines. Less than half of Intake.CommitTimeout, so that the
	// server's definite answer comes first.
	LockTimeout time.Duration `yaml:"lock_timeout" bounds:"100ms..20s"`
	// IdleInTransactionTimeout is the longest that an open transaction may be
	// without a statement, 100ms..5m. Postgres then ends it, so a frozen
	// process gives back its row locks.
	IdleInTransactionTimeout time.Duration `yaml:"idle_in_transaction_timeout" bounds:"100ms..5m"`
}

// Redis configures the connections to the queues and the pub/sub channels.
type Redis struct {
	// URL is redis://user:password@host:port/db, rediss://… (TLS) or
	// unix://path, as go-redis reads it.
	URL Secret `yaml:"url"`
	// Timeout is the longest that one dial, one read or one write may take,
	// 10ms..30s.
	Timeout time.Duration `yaml:"timeout" bounds:"10ms..30s"`
}

// API configures the HTTP server of cmd/api.
type API struct {
	// Listen is the host:port of the API. An empty host means every interface,
	// port 0 any free port.
	Listen string `yaml:"listen"`
	// AdminListen is the host:port of health, metrics and queues. It has no
	// login: keep it off public networks.
	AdminListen string `yaml:"admin_listen"`
	// AdminHosts lists host names, without a port, by which AdminListen can be
	// reached, in addition to IP addresses, localhost and the host in
	// AdminListen. Any other name gets 421, because a web page could have
	// pointed it here.
	AdminHosts []string `yaml:"admin_hosts"`
	// PublicURL is the address at which people reach the API, for links: http
	// or https, without a query or credentials. Load drops a slash at the end.
	// The worker needs it, too: mails contain links.
	PublicURL string `yaml:"public_url"`
	// MaxBodyBytes is the largest request body in bytes, 1024..1048576. A
	// larger one gets 413.
	MaxBodyBytes int64 `yaml:"max_body_bytes" bounds:"1024..1048576"`
	// ReadHeaderTimeout is the longest that reading a request's header may
	// take, 100ms..1m.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" bounds:"100ms..1m"`
	// ReadTimeout is the longest that reading a whole request may take,
	// 100ms..5m.
	ReadTimeout time.Duration `yaml:"read_timeout" bounds:"100ms..5m"`
	// IdleTimeout is how long a kept-alive connection may wait for its next
	// request, 1s..1h.
	IdleTimeout time.Duration `yaml:"idle_timeout" bounds:"1s..1h"`
	// MaxConnections is the most connections to Listen that are open at once,
	// 16..1000000, or fewer if the limit on open files is lower. Seven eighths
	// of them may hold a GET with ?wait=. Anything beyond gets 503.
	MaxConnections int `yaml:"max_connections" bounds:"16..1000000"`
	// MaxPolls is the most GETs with ?wait= that are held at once for one
	// registration, 1..1000. More get 503.
	MaxPolls int `yaml:"max_polls" bounds:"1..1000"`
	// ShutdownDelay is how long the API keeps serving after it is told to stop,
	// 0s..5m, so that load balancers notice that it is not ready.
	ShutdownDelay time.Duration `yaml:"shutdown_delay" bounds:"0s..5m"`
	// ShutdownTimeout is how long requests in flight may take to finish after
	// ShutdownDelay, 1s..10m.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" bounds:"1s..10m"`
	// MaxWait is the longest that a GET with ?wait= is held, 0s..25s. 0s holds
	// none.
	MaxWait time.Duration `yaml:"max_wait" bounds:"0s..25s"`
}

// Intake configures how cmd/api commits the requests that it accepts.
type Intake struct {
	// Committers is how many transactions may be under way at once, 1..16. A
	// run always uses the same committer.
	Committers int `yaml:"committers" bounds:"1..16"`
	// Waiting is how many requests may wait for a commit, 1..1000000, shared
	// evenly by the committers. While commits are slow, only as many may wait
	// as can be committed in half of CommitTimeout. Others get 503 busy at
	// once.
	Waiting int `yaml:"waiting" bounds:"1..1000000"`
	// Batch is the most requests in one transaction, 1..5000.
	Batch int `yaml:"batch" bounds:"1..5000"`
	// CommitTimeout is the total time for committing a request, 500ms..1m. An
	// attempt gets half. If its connection breaks, the same request is tried
	// again in the time that is left; then the answer is 503 outcome_unknown. A
	// request that waits this long for its commit to begin gets 503 busy.
	CommitTimeout time.Duration `yaml:"commit_timeout" bounds:"500ms..1m"`
}

// Worker configures the lanes and sweeps of cmd/worker.
type Worker struct {
	// AdminListen is the host:port of health, metrics and queues. It has no
	// login: keep it off public networks.
	AdminListen string `yaml:"admin_listen"`
	// AdminHosts lists host names by which AdminListen can be reached, as
	// API.AdminHosts does.
	AdminHosts []string `yaml:"admin_hosts"`
	// MaxLanes is the most lanes alive at once in this worker, 1..10000.
	MaxLanes int `yaml:"max_lanes" bounds:"1..10000"`
	// LaneIdle is how long a lane without work stays alive, 10ms..1m. About a
	// second is best: starting a lane costs about as much as idling for one.
	// The api must have the same value, since it derives from it how often to
	// wake workers for a run.
	LaneIdle time.Duration `yaml:"lane_idle" bounds:"10ms..1m"`
	// PollBudget is how often all lanes of this worker together look at their
	// queues, in polls per second, 10..100000.
	PollBudget int `yaml:"poll_budget" bounds:"10..100000"`
	// SweepInterval is the time between sweeps of the runs that were active in
	// the last minute, 100ms..1m. It is also the time between looks for mails
	// that are due and for waiting lists that end.
	SweepInterval time.Duration `yaml:"sweep_interval" bounds:"100ms..1m"`
	// SweepAllInterval is the time between sweeps of all runs, 100ms..10m. At
	// least SweepInterval.
	SweepAllInterval time.Duration `yaml:"sweep_all_interval" bounds:"100ms..10m"`
	// ShutdownTimeout is how long lanes and mails under way may take to finish
	// after the worker is told to stop, 1s..10m. Mails get at least
	// Mail.ConnectTimeout + Mail.SendTimeout + 10s, because a mail that is cut
	// off may be sent twice.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" bounds:"1s..10m"`
}

// Settle configures how cmd/worker decides lines.
type Settle struct {
	// Committers is the most settling transactions under way at once, 1..16.
	// Another one begins only when the last has taken 20 ms.
	Committers int `yaml:"committers" bounds:"1..16"`
	// Budget is the most tickets settled in one transaction, across all of its
	// runs, 1..10000.
	Budget int `yaml:"budget" bounds:"1..10000"`
	// LateAfter is how long a decision must have taken before a refusal is told
	// by mail, 0s..24h. A request with "notify" gets that mail in any case.
	LateAfter time.Duration `yaml:"late_after" bounds:"0s..24h"`
}

// Mail configures what cmd/worker sends, and through which server.
type Mail struct {
	// Server is the host:port of the SMTP server.
	Server string `yaml:"server"`
	// TLS is how the connection to Server is protected: none, starttls (the
	// worker sends nothing without it) or implicit.
	TLS string `yaml:"tls"`
	// Hello is the name that the worker gives in EHLO. Some servers want a name
	// that resolves to the worker. Empty means the name of the host.
	Hello string `yaml:"hello"`
	// Username is the login, together with Password. If both are empty, the
	// worker sends without a login.
	Username string `yaml:"username"`
	// Password is the password of Username. Without TLS, it is sent to this
	// machine only.
	Password Secret `yaml:"password"`
	// From is the sender: an address, and a name for courses that name no
	// organiser, such as "Lastseat <seats@example.org>". The api needs it, too:
	// it is the organiser in the calendar entries of those courses.
	From string `yaml:"from"`
	// ConnectTimeout is the longest that connecting, TLS and login may take
	// together, 100ms..2m.
	ConnectTimeout time.Duration `yaml:"connect_timeout" bounds:"100ms..2m"`
	// SendTimeout is the longest that the server may take for one mail,
	// 100ms..10m. If a worker dies while it sends a mail, that mail waits for
	// about twice ConnectTimeout + SendTimeout.
	SendTimeout time.Duration `yaml:"send_timeout" bounds:"100ms..10m"`
	// IdleTimeout is how long an idle connection is kept for the next mail,
	// 1s..10m.
	IdleTimeout time.Duration `yaml:"idle_timeout" bounds:"1s..10m"`
	// Concurrency is how many mails this worker sends at once, 1..100.
	Concurrency int `yaml:"concurrency" bounds:"1..100"`
	// PerSecond is the most mails that this worker begins to send in a second,
	// 1..10000. Servers have limits, and sending takes processor time from
	// settling.
	PerSecond int `yaml:"per_second" bounds:"1..10000"`
	// RetryMin is how long a mail waits after its first failed attempt,
	// 100ms..1h. Each further failure doubles the wait.
	RetryMin time.Duration `yaml:"retry_min" bounds:"100ms..1h"`
	// RetryMax is the longest that a mail waits between two attempts,
	// 100ms..24h. At least RetryMin.
	RetryMax time.Duration `yaml:"retry_max" bounds:"100ms..24h"`
	// GiveUpAfter is the age from which a failed attempt is a mail's last,
	// 1m..720h. A mail that is older before its first attempt still gets three.
	GiveUpAfter time.Duration `yaml:"give_up_after" bounds:"1m..720h"`
	// RemindBefore is how long before the start of a run its reminders are
	// sent, 0s..720h. 0s sends none.
	RemindBefore time.Duration `yaml:"remind_before" bounds:"0s..720h"`
	// ChangeWindow is how long the notice of a changed time or location waits
	// for further changes, 0s..1h. It waits for at most a tenth of the time to
	// the old or the new start, whichever is nearer, and for at most a minute
	// if that start is less than an hour away.
	ChangeWindow time.Duration `yaml:"change_window" bounds:"0s..1h"`
	// Pace is the time in which an address gets at most two mails about one run
	// and 20 mails in all, 0s..1h. Further news of the run is combined into one
	// mail, and the rest waits. 0s turns both limits off.
	Pace time.Duration `yaml:"pace" bounds:"0s..1h"`
}
