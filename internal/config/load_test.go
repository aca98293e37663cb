package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/config"
)

// others gives every setting a value that is not its default, written as it prints.
var others = map[string]string{
	"log.level":                            "debug",
	"log.format":                           "text",
	"postgres.url":                         "postgresql://a:b@one:5432,two:5433/c?target_session_attrs=read-write",
	"postgres.lock_url":                    "postgres:///c?host=/run/postgresql",
	"postgres.prepared_statements":         "false",
	"postgres.max_conns":                   "40",
	"postgres.connect_timeout":             "3s",
	"postgres.statement_timeout":           "7s",
	"postgres.lock_timeout":                "1.5s",
	"postgres.idle_in_transaction_timeout": "1.5s",
	"redis.url":                            "rediss://u:p@redis.example:6380/3",
	"redis.timeout":                        "250ms",
	"api.listen":                           ":9080",
	"api.admin_listen":                     "[::1]:9081",
	"api.public_url":                       "https://seats.example.org/app",
	"api.admin_hosts":                      "metrics.example.org,api-1",
	"api.max_body_bytes":                   "32768",
	"api.read_header_timeout":              "6s",
	"api.read_timeout":                     "11s",
	"api.idle_timeout":                     "3m0s",
	"api.max_connections":                  "500",
	"api.max_polls":                        "3",
	"api.shutdown_delay":                   "0s",
	"api.shutdown_timeout":                 "30s",
	"api.max_wait":                         "0s",
	"intake.committers":                    "3",
	"intake.waiting":                       "100",
	"intake.batch":                         "50",
	"intake.commit_timeout":                "4s",
	"worker.admin_listen":                  "localhost:9082",
	"worker.admin_hosts":                   "worker-1,worker-2",
	"worker.max_lanes":                     "20",
	"worker.lane_idle":                     "2s",
	"worker.poll_budget":                   "500",
	"worker.sweep_interval":                "500ms",
	"worker.sweep_all_interval":            "20s",
	"worker.shutdown_timeout":              "40s",
	"settle.committers":                    "4",
	"settle.budget":                        "256",
	"settle.late_after":                    "0s",
	"mail.server":                          "mail.example.org:587",
	"mail.tls":                             "starttls",
	"mail.hello":                           "worker-1.example.org",
	"mail.username":                        "seats",
	"mail.password":                        "p@ss",
	"mail.from":                            "Courses <courses@example.org>",
	"mail.connect_timeout":                 "11s",
	"mail.send_timeout":                    "31s",
	"mail.idle_timeout":                    "32s",
	"mail.concurrency":                     "8",
	"mail.per_second":                      "14",
	"mail.retry_min":                       "6s",
	"mail.retry_max":                       "12m0s",
	"mail.give_up_after":                   "48h0m0s",
	"mail.remind_before":                   "0s",
	"mail.change_window":                   "1m0s",
	"mail.pace":                            "1m0s",
}

// printed returns a value as it is written in the table above.
func printed(f field) string {
	switch value := f.value.Interface().(type) {
	case config.Secret:
		return string(value)
	case []string:
		return strings.Join(value, ",")
	default:
		return fmt.Sprint(value)
	}
}

// writeFile returns the name of a new file with this content.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	return rewriteFile(t, filepath.Join(t.TempDir(), "lastseat.yaml"), []byte(content))
}

// rewriteFile gives a file another content and returns its name. A new folder
// for each of thousands of inputs would be slow.
func rewriteFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDefaultsNeedOnlyThePostgresURL(t *testing.T) {
	t.Parallel()
	got, err := config.Load("", []string{giveURL, "HOME=/root", "LASTSEAT"})
	if err != nil {
		t.Fatal(err)
	}
	if want := withURL(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestEveryKeyCanBeSetFromTheEnvironmentAndFromTheFile(t *testing.T) {
	t.Parallel()
	var environ []string
	var yaml strings.Builder
	section := ""
	for _, f := range fieldsOf(&config.Config{}) {
		text, ok := others[f.key]
		if !ok {
			t.Fatalf("the table lacks %s", f.key)
		}
		environ = append(environ, f.variable+"="+text)
		inSection, key, _ := strings.Cut(f.key, ".")
		if inSection != section {
			section = inSection
			fmt.Fprintf(&yaml, "%s:\n", section)
		}
		if f.value.Kind() == reflect.Slice {
			text = `["` + strings.ReplaceAll(text, ",", `", "`) + `"]`
		}
		fmt.Fprintf(&yaml, "  %s: %s\n", key, strings.Replace(text, "[::1]:9081", `"[::1]:9081"`, 1))
	}

	sources := map[string]struct {
		file    string
		environ []string
	}{
		"environment alone":     {"", environ},
		"file alone":            {writeFile(t, yaml.String()), nil},
		"environment over file": {shippedFile, environ},
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Load(source.file, source.environ)
			if err != nil {
				t.Fatal(err)
			}
			defaults := withURL()
			byDefault := fieldsOf(&defaults)
			for i, f := range fieldsOf(&got) {
				if printed(f) != others[f.key] {
					t.Errorf("%s is %q, want %q", f.key, printed(f), others[f.key])
				}
				if printed(byDefault[i]) == others[f.key] {
					t.Errorf("%s has its default in the table, which tests nothing", f.key)
				}
			}
		})
	}
}

func TestValuesAreNormalised(t *testing.T) {
	t.Parallel()
	got, err := config.Load("", []string{
		"LASTSEAT_POSTGRES_URL=postgres://h/overridden", giveURL,
		"LASTSEAT_API_PUBLIC_URL=https://seats.example.org/",
		"LASTSEAT_API_ADMIN_HOSTS= api-1 , metrics.example.org",
		"LASTSEAT_LOG_LEVEL=",
		"LASTSEAT_API_LISTEN=127.0.0.1:0", "LASTSEAT_API_ADMIN_LISTEN=127.0.0.1:0", // two free ports
		"LASTSEAT_CONFIG=x", "LASTSEAT_DEV_ANY=x", "LASTSEAT_TEST_ANY=x", // not ours to judge
	})
	if err != nil {
		t.Fatal(err)
	}
	want := withURL()
	want.API.PublicURL = "https://seats.example.org"
	want.API.AdminHosts = []string{"api-1", "metrics.example.org"}
	want.API.Listen, want.API.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEmptyFilesKeepTheDefaults(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"empty":              "",
		"comments":           "# nothing\n",
		"empty document":     "---\n",
		"empty sections":     "log:\nredis: {}\napi:\n  # listen: x\n",
		"a byte-order mark":  "\ufefflog:\n  level: info\n",
		"Windows line ends":  strings.ReplaceAll(readShipped(t), "\n", "\r\n"),
		"the defaults again": readShipped(t),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Load(writeFile(t, content), []string{giveURL})
			if err != nil {
				t.Fatal(err)
			}
			if want := withURL(); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// FuzzFile checks that a file is either refused, with a line for each fault, or
// means the same as its values in the environment.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"",
		"log:\n  level: info\n",
		"api: {admin_hosts: [api-1, 'api-2'], max_wait: 1s}\n",
		"postgres:\n  url: >-\n    x\n",
		"a: &a [*a]\n",
		"<<: {log: ~}\n",
		"? [x]\n: y\n",
		"%YAML 1.2\n---\n!!map {}\n...\n---\n",
		"log:\n\tlevel: \"\\u0000\"\n",
		"\ufeff- \r",
		"mail: {from: 'a <a@b.example>', hello: x}\n",
		"api:\n  max_body_bytes: 0x4000\n  admin_hosts: []\n",
		"worker: {lane_idle: 1.5s, max_lanes: 1_0}\n",
	} {
		f.Add([]byte(seed))
	}
	name := filepath.Join(f.TempDir(), "lastseat.yaml")
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := config.Load(rewriteFile(t, name, content), []string{giveURL})
		if err != nil {
			requireLines(t, err)
			return
		}
		requireSame(t, got)
	})
}
