package config_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/config"
)

// wantFaults loads and compares the faults, each as it is printed, with NAME for the name of the file.
func wantFaults(t *testing.T, file string, environ []string, want ...string) {
	t.Helper()
	c, err := config.Load(file, environ)
	var faults *config.Error
	if !errors.As(err, &faults) {
		t.Fatalf("got error %v, want a *config.Error", err)
	}
	if !reflect.DeepEqual(c, config.Config{}) {
		t.Errorf("got %+v beside the error, want nothing", c)
	}
	var got []string
	for _, f := range faults.Faults {
		line := f.String()
		if file != "" {
			line = strings.ReplaceAll(line, file, "NAME")
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got faults\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	file := writeFile(t, `log:
  level: verbose
  colour: true
postgres:
  max_conns: many
  lock_timeout: 10s
  lock_timeout: 20s
postgress: {}
redis:
  timeout:
api:
  admin_hosts: api-1
  idle_timeout: [1s]
  read_timeout: 10
worker: 3
`)
	environ := []string{
		"LASTSEAT_POSTGRS_URL=x", "LASTSEAT_LOG_LEVEL_FILE=x",
		"LASTSEAT_API_MAX_WAIT=26s", "LASTSEAT_INTAKE_WAITING=99999999999999999999", "LASTSEAT_API_LISTEN=0.0.0.0:8081",
	}
	wantFaults(t, file, environ,
		"log.colour (line 3 of NAME): unknown key",
		`postgres.max_conns (line 5 of NAME): must be a whole number, not "many"`,
		"postgres.lock_timeout (line 7 of NAME): is duplicated; line 6 has it, too",
		"postgress (line 8 of NAME): unknown section",
		"redis.timeout (line 10 of NAME): has no value; remove the line to get the default",
		"api.admin_hosts (line 12 of NAME): must be a list: [a, b]",
		"api.idle_timeout (line 13 of NAME): must be one plain value",
		`api.read_timeout (line 14 of NAME): must be a duration with a unit, such as 500ms, 10s or 2m, not "10"`,
		"worker (line 15 of NAME): must hold keys and values",
		"intake.waiting (LASTSEAT_INTAKE_WAITING): must be 1..1000000, not 99999999999999999999",
		"LASTSEAT_LOG_LEVEL_FILE: unknown variable",
		"LASTSEAT_POSTGRS_URL: unknown variable",
		"api.max_wait (LASTSEAT_API_MAX_WAIT): must be 0s..25s, not 26s",
		`log.level (line 2 of NAME): must be one of debug, info, warn, error, not "verbose"`,
		"postgres.url (LASTSEAT_POSTGRES_URL): is missing: set it to postgres://user:password@host:port/database, or set "+
			"LASTSEAT_POSTGRES_URL_FILE to the name of a file that holds it",
		"postgres.statement_timeout (LASTSEAT_POSTGRES_STATEMENT_TIMEOUT): must not be less than postgres.lock_timeout, "+
			"which is 20s; it is 5s",
		"intake.commit_timeout (LASTSEAT_INTAKE_COMMIT_TIMEOUT): must be more than twice postgres.lock_timeout, "+
			"which is 20s; it is 3s",
		`api.admin_listen (LASTSEAT_API_ADMIN_LISTEN): must differ from api.listen, which is "0.0.0.0:8081"; it is `+
			`"127.0.0.1:8081"`,
	)
}

func TestErrorReadsAsAList(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", []string{giveURL, "LASTSEAT_LOG_LEVL=x", "LASTSEAT_SETTLE_BUDGET=0"})
	want := "2 faults in the configuration:\n" +
		"  LASTSEAT_LOG_LEVL: unknown variable\n" +
		"  settle.budget (LASTSEAT_SETTLE_BUDGET): must be 1..10000, not 0"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = config.Load("", []string{giveURL, "LASTSEAT_LOG_LEVL=x"})
	want = "1 fault in the configuration:\n  LASTSEAT_LOG_LEVL: unknown variable"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ key, value, want string }{
		"unknown log format":          {"log.format", "xml", `must be one of json, text, not "xml"`},
		"neither true nor false":      {"postgres.prepared_statements", "off", `must be true or false, not "off"`},
		"Postgres URL without host":   {"postgres.lock_url", "postgres:///db", "names no host"},
		"Postgres key=value string":   {"postgres.lock_url", "host=x", "must begin with postgres:// or postgresql://"},
		"listen address without port": {"api.listen", "localhost", `must be host:port, not "localhost"`},
		"listen address, named port":  {"api.listen", ":http", `must have a port of 0..65535, not ":http"`},
		"listen address, high port":   {"api.listen", ":65536", `must have a port of 0..65535, not ":65536"`},
		"same listen address": {
			"worker.admin_listen", "127.0.0.1:8081",
			`must differ from api.admin_listen, which is "127.0.0.1:8081"; it is "127.0.0.1:8081"`,
		},
		"public URL without host":  {"api.public_url", "x.org", "is not a URL such as https://seats.example.org"},
		"public URL, other scheme": {"api.public_url", "ftp://h", "must begin with http:// or https://"},
		"public URL with query":    {"api.public_url", "http://h/?a", "must not hold a ? or a #"},
		"public URL with password": {"api.public_url", "http://u:pw@h", "must not hold a user or a password"},
		"sweeps of all runs, more often than others": {
			"worker.sweep_all_interval", "999ms",
			"must not be less than worker.sweep_interval, which is 1s; it is 999ms",
		},
		"admin host with a port": {
			"api.admin_hosts", "api-1,api-2:8081",
			`must list host names without a port, such as metrics.example.org, not "api-2:8081"`,
		},
		"admin host with a scheme": {
			"worker.admin_hosts", "http://worker-1",
			`must list host names without a port, such as metrics.example.org, not "http://worker-1"`,
		},
		"mail server without port":              {"mail.server", "mail.example.org", `must be host:port, not "mail.example.org"`},
		"mail server without host":              {"mail.server", ":25", `must be host:port with the name or the IP address of a host, not ":25"`},
		"mail server with a blank":              {"mail.server", "mail .example.org:25", `must be host:port with the name or the IP address of a host, not "mail .example.org:25"`},
		"mail server with a scheme":             {"mail.server", "[smtp://mail]:25", `must be host:port with the name or the IP address of a host, not "[smtp://mail]:25"`},
		"mail server with an empty label":       {"mail.server", "mail..example.org:25", `must be host:port with the name or the IP address of a host, not "mail..example.org:25"`},
		"greeting with a blank":                 {"mail.hello", "my host", `must be the name of a host, of at most 253 letters, digits, hyphens and dots, not "my host"`},
		"greeting on two lines":                 {"mail.hello", "a\r\nb", `must be the name of a host, of at most 253 letters, digits, hyphens and dots, not "a\r\nb"`},
		"greeting that is too long":             {"mail.hello", strings.Repeat("a.", 127), `must be the name of a host, of at most 253 letters, digits, hyphens and dots, not "` + strings.Repeat("a.", 30) + `"`},
		"mail server at port 0":                 {"mail.server", "mail.example.org:0", `must have a port of 1..65535, not "mail.example.org:0"`},
		"unknown protection":                    {"mail.tls", "ssl", `must be one of none, starttls, implicit, not "ssl"`},
		"sender without address":                {"mail.from", "Lastseat", `must be an address such as "Lastseat <seats@example.org>", not "Lastseat"`},
		"sender with two addresses":             {"mail.from", "a@b.c, d@e.f", `must be an address such as "Lastseat <seats@example.org>", not "a@b.c, d@e.f"`},
		"sender at an internationalised domain": {"mail.from", "a@ü.example", "must have an address of ASCII letters: write an internationalised domain as xn--…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variable := "LASTSEAT_" + strings.ToUpper(strings.ReplaceAll(test.key, ".", "_"))
			wantFaults(t, "", []string{giveURL, variable + "=" + test.value}, test.key+" ("+variable+"): "+test.want)
		})
	}
}

func TestAMailPasswordNeedsTLS(t *testing.T) {
	t.Parallel()
	login := []string{giveURL, "LASTSEAT_MAIL_USERNAME=seats", "LASTSEAT_MAIL_PASSWORD=secret"}
	fault := "mail.tls (LASTSEAT_MAIL_TLS): must not be none when mail.username logs in to another machine"
	for server, want := range map[string]string{"mail.example.org:25": fault, "10.0.0.1:25": fault, "127.0.0.1:25": "", "localhost:25": "", "[::1]:25": ""} {
		environ := append(slices.Clone(login), "LASTSEAT_MAIL_SERVER="+server)
		if want != "" {
			wantFaults(t, "", environ, want)
		} else if _, err := config.Load("", environ); err != nil {
			t.Errorf("%s: %v", server, err)
		}
		if _, err := config.Load("", append(environ, "LASTSEAT_MAIL_TLS=starttls")); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
}

func TestALoginHasANameAndAPassword(t *testing.T) {
	t.Parallel()
	wantFaults(t, "", []string{giveURL, "LASTSEAT_MAIL_USERNAME=seats"},
		"mail.password (LASTSEAT_MAIL_PASSWORD): is missing although mail.username is given")
	wantFaults(t, "", []string{giveURL, "LASTSEAT_MAIL_PASSWORD=secret"},
		"mail.username (LASTSEAT_MAIL_USERNAME): is missing although mail.password is given")
}

func TestValidMailServers(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"mailpit:1025", "mail_server-1:25", "MAIL.example.org.:587", "10.0.0.1:25", "[::1]:25", "[fe80::1%eth0]:25", "xn--strae-oqa.example:465"} {
		if _, err := config.Load("", []string{giveURL, "LASTSEAT_MAIL_SERVER=" + server}); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	}
}

func TestBadFilesAreRefusedTogetherWithTheRest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, want string }{
		"broken YAML":      {"log:\n  level: [info\n", "NAME: is not valid YAML"},
		"too large":        {strings.Repeat("#", 1<<20+1), "NAME: cannot be read: it is larger than 1048576 bytes"},
		"second document":  {"log:\n  level: info\n---\nlog:\n", "NAME: begins a second YAML document; only one is allowed"},
		"no mapping":       {"- log\n", "NAME: must hold keys and values"},
		"an alias":         {"log:\n  level: *x\n", "must be one plain value"},
		"null in the list": {"api:\n  admin_hosts: [~]\n", "must be a list of plain values"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, test.content)
			_, err := config.Load(file, []string{"LASTSEAT_TYPO=x", "LASTSEAT_SETTLE_BUDGET=0"})
			if err == nil {
				t.Fatal("got no error")
			}
			text := strings.ReplaceAll(err.Error(), file, "NAME")
			for _, want := range []string{test.want, "LASTSEAT_TYPO", "settle.budget", "postgres.url"} {
				if !strings.Contains(text, want) {
					t.Errorf("the error lacks %q: %s", want, text)
				}
			}
		})
	}
}

func TestMissingFileIsAFault(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "none.yaml")
	wantFaults(t, file, []string{giveURL}, "NAME: cannot be read: no such file or directory")
}
