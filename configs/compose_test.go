// Package configs_test checks the files that a deployment starts from against
// the programs: docker-compose.yml and the Dockerfile.
package configs_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/lastseat/lastseat/internal/config"
)

// ours are the services that run one of our programs.
var ours = []string{"migrate", "api", "worker"}

// project loads docker-compose.yml as compose does, with these variables in the
// environment.
func project(t *testing.T, environment types.Mapping) *types.Project {
	t.Helper()
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  "..",
		ConfigFiles: []types.ConfigFile{{Filename: "../docker-compose.yml"}},
		Environment: environment,
	}, func(o *loader.Options) { o.SetProjectName("lastseat", true) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func service(t *testing.T, p *types.Project, name string) types.ServiceConfig {
	t.Helper()
	s, err := p.GetService(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// environ returns a service's environment as the program in it sees it.
func environ(s types.ServiceConfig) []string {
	var all []string
	for name, value := range s.Environment {
		if value != nil {
			all = append(all, name+"="+*value)
		}
	}
	return all
}

// Load refuses what it does not know, so a misspelt variable fails here.
func TestComposeGivesEveryProgramAConfigurationItAccepts(t *testing.T) {
	t.Parallel()
	for name, environment := range map[string]types.Mapping{
		"as it is":  {},
		"with .env": {"POSTGRES_PASSWORD": "s3cret", "LASTSEAT_API_PUBLIC_URL": "https://seats.example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t, environment)
			password := service(t, p, "postgres").Environment["POSTGRES_PASSWORD"]
			for _, name := range ours {
				s := service(t, p, name)
				for variable := range s.Environment {
					if !strings.HasPrefix(variable, "LASTSEAT_") || strings.HasPrefix(variable, "LASTSEAT_DEV_") || strings.HasPrefix(variable, "LASTSEAT_TEST_") {
						t.Errorf("%s: %s is no setting", name, variable)
					}
				}
				c, err := config.Load("", environ(s))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, to := range []struct{ url, host string }{
					{string(c.Postgres.URL), "postgres:5432"}, {string(c.Postgres.LockURL), "postgres:5432"}, {string(c.Redis.URL), "redis:6379"},
				} {
					if u, err := url.Parse(to.url); err != nil || u.Host != to.host {
						t.Errorf("%s: a URL does not lead to %s", name, to.host)
					}
				}
				if u, err := url.Parse(string(c.Postgres.URL)); err == nil {
					if given, _ := u.User.Password(); password == nil || given != *password {
						t.Errorf("%s has another password than the database", name)
					}
				}
				if c.Mail.Server != "mailpit:1025" || service(t, p, "mailpit").Image == "" {
					t.Errorf("%s sends its mail to %s", name, c.Mail.Server)
				}
				if want, set := environment["LASTSEAT_API_PUBLIC_URL"]; set && c.API.PublicURL != want {
					t.Errorf("%s: the public address is %s, want %s", name, c.API.PublicURL, want)
				}
				sending := c.Mail.ConnectTimeout + c.Mail.SendTimeout + 10*time.Second // see worker.shutdown_timeout
				for _, timeout := range []time.Duration{c.API.ShutdownDelay + c.API.ShutdownTimeout, 2 * c.Worker.ShutdownTimeout, sending} {
					if grace := s.StopGracePeriod; grace == nil || time.Duration(*grace) < timeout+c.Intake.CommitTimeout+c.Postgres.StatementTimeout {
						t.Errorf("%s is killed after %v, while stopping may take %v and the last commits", name, grace, timeout)
					}
				}
			}
		})
	}
}

func TestComposeStartsThingsInOrder(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	for name, want := range map[string]map[string]string{
		"migrate":  {"postgres": types.ServiceConditionHealthy},
		"api":      {"migrate": types.ServiceConditionCompletedSuccessfully, "redis": types.ServiceConditionStarted},
		"worker":   {"migrate": types.ServiceConditionCompletedSuccessfully, "redis": types.ServiceConditionStarted},
		"asynqmon": {"redis": types.ServiceConditionStarted},
	} {
		got := map[string]string{}
		for on, d := range service(t, p, name).DependsOn {
			got[on] = d.Condition
		}
		for on, condition := range want {
			if got[on] != condition {
				t.Errorf("%s waits for %s until %q, want %q", name, on, got[on], condition)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s waits for %v, want %v", name, got, want)
		}
	}
	if s := service(t, p, "migrate"); s.Restart != types.RestartPolicyNo {
		t.Errorf("migrate is started again: %q", s.Restart)
	}
	for name, want := range map[string][]string{
		"api":    {"CMD", "/api", "healthcheck"},
		"worker": {"CMD", "/worker", "healthcheck"},
	} {
		if h := service(t, p, name).HealthCheck; h == nil || !slices.Equal(h.Test, want) {
			t.Errorf("%s is not asked for its health by %v", name, want)
		}
	}
	if h := service(t, p, "postgres").HealthCheck; h == nil || h.Disable {
		t.Error("nothing asks postgres whether it is healthy")
	}
}

func TestComposePublishesOnTheLoopbackOnly(t *testing.T) {
	t.Parallel()
	taken := map[string]string{}
	for name, s := range project(t, nil).Services {
		if s.NetworkMode == "host" {
			t.Errorf("%s is in the host's network", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %d on %q", name, port.Target, port.HostIP)
			}
			if other, twice := taken[port.Published]; twice {
				t.Errorf("%s and %s publish port %s", name, other, port.Published)
			}
			taken[port.Published] = name
		}
	}
}

func TestComposeSetsUpTheServices(t *testing.T) {
	t.Parallel()
	p := project(t, nil)

	redis := []string(service(t, p, "redis").Command)
	for _, want := range [][]string{{"--save", ""}, {"--appendonly", "no"}, {"--maxmemory-policy", "noeviction"}} {
		if i := slices.Index(redis, want[0]); i < 0 || i+1 >= len(redis) || redis[i+1] != want[1] {
			t.Errorf("redis is started by %q, without %q", redis, want)
		}
	}

	// Where the image keeps the data; elsewhere they are lost with the container.
	postgres := service(t, p, "postgres")
	version, _, _ := strings.Cut(strings.TrimPrefix(postgres.Image, "postgres:"), "-")
	folder := map[string]string{"15": "/data", "16": "/data", "17": "/data"}[version]
	if len(postgres.Volumes) != 1 || postgres.Volumes[0].Type != types.VolumeTypeVolume || postgres.Volumes[0].Target != "/var/lib/postgresql"+folder {
		t.Errorf("%s keeps its data in %v", postgres.Image, postgres.Volumes)
	}

	if queues := service(t, p, "asynqmon").Command; !slices.Contains(queues, "--read-only") {
		t.Errorf("asynqmon may change the queues: %q", queues)
	}
}
