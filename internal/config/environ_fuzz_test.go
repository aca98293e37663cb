package config_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/config"
)

// requireLines asserts that an error is a *config.Error with a line for each fault.
func requireLines(t *testing.T, err error) {
	t.Helper()
	var faults *config.Error
	if !errors.As(err, &faults) {
		t.Fatalf("got error %v, want a *config.Error", err)
	}
	if lines := strings.Count(err.Error(), "\n"); lines == 0 || lines != len(faults.Faults) {
		t.Errorf("%d faults on %d lines: %q", len(faults.Faults), lines, err)
	}
}

// requireSame asserts that every number of a configuration is within its bounds,
// and that its printed values, given in the environment, make the same
// configuration.
func requireSame(t *testing.T, got config.Config) {
	t.Helper()
	var environ []string
	for _, f := range fieldsOf(&got) {
		environ = append(environ, f.variable+"="+printed(f))
		if low, high, bounded := strings.Cut(f.bounds, ".."); bounded {
			number := func(text string) int64 {
				if d, err := time.ParseDuration(text); f.value.Type() == reflect.TypeFor[time.Duration]() && err == nil {
					return int64(d)
				}
				n, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					t.Fatalf("%s has the bounds %s", f.key, f.bounds)
				}
				return n
			}
			if n := f.value.Int(); n < number(low) || n > number(high) {
				t.Errorf("%s is %s, outside of %s", f.key, printed(f), f.bounds)
			}
		}
	}
	again, err := config.Load("", environ)
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("got %+v, and by the environment %+v, %v", got, again, err)
	}
}

// FuzzEnvironment gives each setting in turn a value that holds a password.
func FuzzEnvironment(f *testing.F) {
	const password = "hunter2"
	settings := fieldsOf(&config.Config{})
	for i, s := range settings {
		f.Add(byte(i), others[s.key], "")
		f.Add(byte(i), "", others[s.key])
	}
	for _, seed := range []string{"", " ", "-1", "9223372036854775808", "1e3", "0x10", "1h1", "::", "a:b", "\n", "\x00", "\xff", "10.0.0.1, ,", "http://u:", "http://h/?", "postgres://u:", "%zz", "Lastseat <", "<", "127.0.0.1:"} {
		for i := range settings {
			f.Add(byte(i), seed, "@h/db"[:5*(i%2)])
		}
	}
	f.Fuzz(func(t *testing.T, which byte, before, after string) {
		s := settings[int(which)%len(settings)]
		plain, err := config.Load("", []string{giveURL, s.variable + "=" + before + after})
		if err != nil {
			requireLines(t, err)
		} else {
			requireSame(t, plain)
		}
		switch s.key {
		case "postgres.url", "postgres.lock_url", "redis.url", "mail.password", "api.public_url":
			_, err := config.Load("", []string{giveURL, s.variable + "=" + before + password + after})
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the password of %q is in the error: %v", before+password+after, err)
			}
		}
	})
}

// FuzzSecretFile compares a secret in a file with the same secret in the
// environment. Only the line end at the end of the file may differ.
func FuzzSecretFile(f *testing.F) {
	for _, seed := range []string{"", "\n", someURL, someURL + "\n", someURL + "\r\n\r\n", "\n" + someURL, " " + someURL, "postgres://h/\x00", "\xff", "hunter2"} {
		f.Add([]byte(seed))
	}
	name := filepath.Join(f.TempDir(), "secret")
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := config.Load("", []string{"LASTSEAT_POSTGRES_URL_FILE=" + rewriteFile(t, name, content)})
		text := strings.TrimRight(string(content), "\r\n")
		want, refused := config.Load("", []string{"LASTSEAT_POSTGRES_URL=" + text})
		if !reflect.DeepEqual(got, want) || (err == nil) != (refused == nil) {
			t.Errorf("%q is %+v, %v in a file and %+v, %v in the environment", content, got.Postgres, err, want.Postgres, refused)
		}
		if err != nil {
			requireLines(t, err)
		}
	})
}

// FuzzVariable checks that an unknown variable that begins like ours is a fault,
// and that the fault does not quote its value.
func FuzzVariable(f *testing.F) {
	for _, seed := range []string{"", "LASTSEAT_", "LASTSEAT_CONFIG", "LASTSEAT_CONFIGS", "LASTSEAT_DEV_X", "LASTSEAT_POSTGRES_URL_FILE", "LASTSEAT_LOG_LEVEL_FILE", "LASTSEAT_A\nB", "LASTSEAT_postgres_url", "HOME", "LASTSEAT_\xff", "lastseat_log_level"} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.Contains(name, "=") {
			return // begins the value
		}
		got, err := config.Load("", []string{name + "=" + value, giveURL})
		if err != nil {
			requireLines(t, err)
			if strings.Contains(err.Error(), "unknown variable") && len(value) > 20 && strings.Contains(err.Error(), value) {
				t.Errorf("the value of %q is in the error: %v", name, err)
			}
			return
		}
		if !strings.HasPrefix(name, "LASTSEAT_") && !reflect.DeepEqual(got, withURL()) {
			t.Errorf("%q=%q gives %+v", name, value, got)
		}
	})
}
