package configs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// environ returns a service's environment as the program in it sees it, with the
// files of its secrets where they are here.
func environ(t *testing.T, p *types.Project, s types.ServiceConfig) []string {
	t.Helper()
	var all []string
	for name, value := range s.Environment {
		if value == nil {
			continue
		}
		if secret, is := strings.CutPrefix(*value, "/run/secrets/"); is {
			all = append(all, name+"="+secretFile(t, p, s, secret))
			continue
		}
		all = append(all, name+"="+*value)
	}
	return all
}

// secretFile returns the file of a secret that the service has.
func secretFile(t *testing.T, p *types.Project, s types.ServiceConfig, name string) string {
	t.Helper()
	if !slices.ContainsFunc(s.Secrets, func(c types.ServiceSecretConfig) bool { return c.Source == name }) {
		t.Errorf("%s does not have the secret %s", s.Name, name)
	}
	return p.Secrets[name].File
}

// ownSecrets returns a folder of secrets as an operator writes them.
func ownSecrets(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"postgres_password": "s3cret", "postgres_url": "postgres://lastseat:s3cret@postgres:5432/lastseat",
		"mail_password": "hush",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A secret in the environment shows in `docker inspect` and in crash reports.
func TestComposeKeepsSecretsInFiles(t *testing.T) {
	t.Parallel()
	p := project(t, types.Mapping{"SECRETS": ownSecrets(t)})
	for name, s := range p.Services {
		for variable, value := range s.Environment {
			if value == nil || *value == "" || strings.HasPrefix(*value, "/run/secrets/") {
				continue
			}
			if strings.Contains(variable, "PASSWORD") || strings.Contains(variable, "TOKEN") || strings.Contains(*value, "lastseat:") {
				t.Errorf("%s has a secret in %s", name, variable)
			}
		}
	}
	for name, secret := range p.Secrets {
		if !strings.HasPrefix(secret.File, p.Environment["SECRETS"]) {
			t.Errorf("%s is in %s, not in the folder of the operator", name, secret.File)
		}
	}
}
