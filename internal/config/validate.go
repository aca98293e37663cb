package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// validate reports every value that cannot be used, except those that have a
// fault already.
func (l *loader) validate(c Config) {
	for _, s := range l.settings {
		if s.value.CanInt() {
			l.check(s.key, s.checkBounds())
		}
	}
	l.check("log.level", oneOf(c.Log.Level, "debug", "info", "warn", "error"))
	l.check("log.format", oneOf(c.Log.Format, "json", "text"))

	if s := l.setting("postgres.url"); c.Postgres.URL == "" && !s.faulty {
		s.source = s.variable // not the empty line of the file: the environment is the better place for a password
		l.fault(s, "is missing: set it to postgres://user:password@host:port/database, or set %s to the name of "+
			"a file that holds it", s.variable+fileSuffix)
	}
	l.check("postgres.url", postgresURL(c.Postgres.URL))
	l.check("postgres.lock_url", postgresURL(c.Postgres.LockURL))
	l.check("postgres.statement_timeout",
		notLess(c.Postgres.StatementTimeout, "postgres.lock_timeout", c.Postgres.LockTimeout))
	l.check("redis.url", redisURL(c.Redis.URL))
	l.check("intake.commit_timeout",
		moreThanTwice(c.Intake.CommitTimeout, "postgres.lock_timeout", c.Postgres.LockTimeout))

	l.check("worker.sweep_all_interval",
		notLess(c.Worker.SweepAllInterval, "worker.sweep_interval", c.Worker.SweepInterval))

	l.check("api.listen", listenAddress(c.API.Listen))
	l.check("api.admin_listen", listenAddress(c.API.AdminListen))
	l.check("worker.admin_listen", listenAddress(c.Worker.AdminListen))
	l.check("api.admin_listen", differ(c.API.AdminListen, "api.listen", c.API.Listen))
	l.check("worker.admin_listen", differ(c.Worker.AdminListen, "api.listen", c.API.Listen))
	l.check("worker.admin_listen", differ(c.Worker.AdminListen, "api.admin_listen", c.API.AdminListen))
	l.check("api.admin_hosts", hostNames(c.API.AdminHosts))
	l.check("worker.admin_hosts", hostNames(c.Worker.AdminHosts))
	l.check("api.public_url", publicURL(c.API.PublicURL))

	l.validateMail(c.Mail)
}

// check adds err, if any, as a fault of the setting, unless it has one already.
func (l *loader) check(key string, err error) {
	if s := l.setting(key); err != nil && !s.faulty {
		l.fault(s, "%v", err)
	}
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("must be one of %s, not %.40q", strings.Join(allowed, ", "), value)
}

func notLess(value time.Duration, key string, other time.Duration) error {
	if value < other {
		return fmt.Errorf("must not be less than %s, which is %v; it is %v", key, other, value)
	}
	return nil
}

func moreThanTwice(value time.Duration, key string, other time.Duration) error {
	if value <= 2*other {
		return fmt.Errorf("must be more than twice %s, which is %v; it is %v", key, other, value)
	}
	return nil
}

// postgresURL checks what can be checked without the driver; empty passes. The
// error must not quote the URL.
func postgresURL(secret Secret) error {
	if secret == "" {
		return nil
	}
	u, err := url.Parse(string(secret))
	if err != nil {
		return errors.New("is not a URL; special characters in a password must be percent-encoded")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("must begin with postgres:// or postgresql://")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("has parameters after the ? that cannot be read")
	}
	if u.Host == "" && query.Get("host") == "" {
		return errors.New("names no host")
	}
	return nil
}

// redisURL checks that go-redis can use the URL. Its errors quote the URL, so they are not passed on.
func redisURL(secret Secret) error {
	if secret == "" {
		return errors.New("is missing: set it to redis://host:port/db, or leave it out to get the default")
	}
	if _, err := redis.ParseURL(string(secret)); err != nil {
		return errors.New("is not a URL that go-redis understands: redis://user:password@host:port/db, rediss://… or " +
			"unix://path; special characters in a password must be percent-encoded")
	}
	return nil
}

func listenAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("must be host:port, not %.60q", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("must have a port of 0..65535, not %.60q", address)
	}
	return nil
}

// differ reports two addresses on which no process can listen at once: with the
// same port, and with the same host or all hosts. Port 0 is another port every
// time.
func differ(address, otherKey, other string) error {
	host, port, _ := net.SplitHostPort(address) // listenAddress reports an invalid address
	otherHost, otherPort, _ := net.SplitHostPort(other)
	if port == "" || port != otherPort || port == "0" {
		return nil
	}
	if host == otherHost || allHosts(host) || allHosts(otherHost) {
		return fmt.Errorf("must differ from %s, which is %q; it is %q", otherKey, other, address)
	}
	return nil
}

func allHosts(host string) bool {
	return host == "" || net.ParseIP(host).IsUnspecified()
}

// publicURL checks the URL. The error must not quote it, because one of its
// faults is to hold credentials.
func publicURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("is not a URL such as https://seats.example.org")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case u.User != nil:
		return errors.New("must not hold a user or a password")
	case strings.ContainsAny(text, "?#"):
		return errors.New("must not hold a ? or a #")
	}
	return nil
}

func hostNames(list []string) error {
	for _, name := range list {
		if !isHostName(name) {
			return fmt.Errorf("must list host names without a port, such as metrics.example.org, not %.60q", name)
		}
	}
	return nil
}
