package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lastseat/lastseat/internal/config"
)

func TestSecretsComeFromFiles(t *testing.T) {
	t.Parallel()
	got, err := config.Load(shippedFile, []string{
		"LASTSEAT_POSTGRES_URL_FILE=" + writeFile(t, someURL+"\n"),
		"LASTSEAT_POSTGRES_LOCK_URL_FILE=" + writeFile(t, "postgres://direct/db\r\n"),
		"LASTSEAT_REDIS_URL_FILE=" + writeFile(t, "unix:///run/redis.sock"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Postgres.URL, want.Postgres.LockURL, want.Redis.URL = someURL, "postgres://direct/db", "unix:///run/redis.sock"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBadSecretFilesAreFaults(t *testing.T) {
	t.Parallel()
	wantFaults(t, "", []string{
		giveURL, "LASTSEAT_POSTGRES_URL_FILE=" + writeFile(t, someURL),
		"LASTSEAT_POSTGRES_LOCK_URL_FILE=" + writeFile(t, "\n"),
		"LASTSEAT_REDIS_URL_FILE=" + writeFile(t, strings.Repeat("x", 64<<10+1)),
	},
		"postgres.url (LASTSEAT_POSTGRES_URL): is set although LASTSEAT_POSTGRES_URL_FILE is set, too; set only one of them",
		"postgres.lock_url (LASTSEAT_POSTGRES_LOCK_URL_FILE): names a file that is empty",
		"redis.url (LASTSEAT_REDIS_URL_FILE): names a file that cannot be read: it is larger than 65536 bytes",
	)
	wantFaults(t, "", []string{"LASTSEAT_POSTGRES_URL_FILE=" + t.TempDir()},
		"postgres.url (LASTSEAT_POSTGRES_URL_FILE): names a file that cannot be read: is a directory")
}

// Each of these holds a password in a place where a parser's own error would quote it.
func TestErrorsNeverHoldASecret(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	bad := []string{
		"postgres://u:" + password + "%zz@h/db",
		"postgres://u:" + password + "@h:port/db",
		"postgres://u:" + password + "@h/db?a=%zz",
		"mysql://u:" + password + "@h/db",
		"redis://u:" + password + "@h/not-a-number",
		"redis://u:x@h/0?" + password + "=1",
		password + "://h",
		"postgres://u:" + password + "\x01@h/db",
		password,
	}
	files := []string{
		"postgres:\n  postgres://u:" + password + "@h/db: x\n",
		"postgres:\n  url:postgres://u:" + password + "@h/db\n",
		"postgres:\n  url: |" + password + "\n",
		"postgres:\n  url: \"" + password,
		"postgres:\n  url: postgres: " + password,
		"postgres:\n  url: @" + password,
		"postgres:\n  url: !" + password + " x",
		"postgres:\n  url: *" + password,
		"postgres:\n  url: [" + password + "]",
		"postgres: " + password,
		"postgres://u:" + password + "@h/db",
		"? " + password + "://h\n: x\n",
	}
	for _, value := range bad {
		files = append(files, fmt.Sprintf("postgres:\n  url: %q\nredis:\n  url: %q\n", value, value))
	}
	check := func(what, file string, environ ...string) {
		_, err := config.Load(file, environ)
		if err == nil {
			t.Errorf("%q is accepted", what)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("the password of %q is in the error: %v", what, err)
		}
	}
	for _, content := range files {
		check(content, writeFile(t, content))
	}
	for _, value := range bad {
		check(value, "", "LASTSEAT_POSTGRES_URL="+value, "LASTSEAT_REDIS_URL="+value)
		check(value, "", "LASTSEAT_POSTGRES_URL_FILE="+value, "LASTSEAT_REDIS_URL_FILE="+value)
		check(value, "", "LASTSEAT_POSTGRES_URL_FILE="+writeFile(t, value))
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	c := withURL()
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c.Postgres.URL, c.Postgres.URL), string(text)} {
		if strings.Contains(printed, "seats:pw") {
			t.Errorf("the password is in %s", printed)
		}
	}
	if got := config.Secret("").String(); got != "" {
		t.Errorf("an empty secret prints as %q", got)
	}
}
