// Package configs_test checks the files that a deployment starts from against
// the programs: docker-compose.yml and the Dockerfile.
package configs_test

import (
	"net/url"
	"os"
	"regexp"
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

// Load refuses what it does not know, so a misspelt variable fails here.
func TestComposeGivesEveryProgramAConfigurationItAccepts(t *testing.T) {
	t.Parallel()
	for name, environment := range map[string]types.Mapping{
		"as it is": {},
		"with .env": {
			"SECRETS": ownSecrets(t), "LASTSEAT_API_PUBLIC_URL": "https://seats.example.org",
			"LASTSEAT_MAIL_SERVER": "mail.example.org:587", "LASTSEAT_MAIL_TLS": "starttls", "LASTSEAT_MAIL_USERNAME": "seats",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t, environment)
			password, err := os.ReadFile(secretFile(t, p, service(t, p, "postgres"), "postgres_password"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range ours {
				requireConfiguration(t, p, service(t, p, name), strings.TrimSpace(string(password)))
			}
		})
	}
}

// requireConfiguration fails the test if the program in a service does not accept
// its configuration, or would not do with it what the project's environment says.
func requireConfiguration(t *testing.T, p *types.Project, s types.ServiceConfig, password string) {
	t.Helper()
	for variable := range s.Environment {
		if !strings.HasPrefix(variable, "LASTSEAT_") || strings.HasPrefix(variable, "LASTSEAT_DEV_") || strings.HasPrefix(variable, "LASTSEAT_TEST_") {
			t.Errorf("%s: %s is no setting", s.Name, variable)
		}
	}
	c, err := config.Load("", environ(t, p, s))
	if err != nil {
		t.Errorf("%s: %v", s.Name, err)
		return
	}
	for _, to := range []struct{ url, host string }{
		{string(c.Postgres.URL), "postgres:5432"}, {string(c.Postgres.LockURL), "postgres:5432"}, {string(c.Redis.URL), "redis:6379"},
	} {
		if u, err := url.Parse(to.url); err != nil || u.Host != to.host {
			t.Errorf("%s: a URL does not lead to %s", s.Name, to.host)
		}
	}
	if u, err := url.Parse(string(c.Postgres.URL)); err == nil {
		if given, _ := u.User.Password(); given != password {
			t.Errorf("%s has another password than the database", s.Name)
		}
	}
	server, mailPassword := p.Environment["LASTSEAT_MAIL_SERVER"], "hush"
	if p.Environment["SECRETS"] == "" {
		server, mailPassword = service(t, p, "mailpit").Name+":1025", ""
	}
	if c.Mail.Server != server || string(c.Mail.Password) != mailPassword {
		t.Errorf("%s sends its mail to %s, or with another password", s.Name, c.Mail.Server)
	}
	if want, set := p.Environment["LASTSEAT_API_PUBLIC_URL"]; set && c.API.PublicURL != want {
		t.Errorf("%s: the public address is %s, want %s", s.Name, c.API.PublicURL, want)
	}
	sending := c.Mail.ConnectTimeout + c.Mail.SendTimeout + 10*time.Second // see worker.shutdown_timeout
	for _, timeout := range []time.Duration{c.API.ShutdownDelay + c.API.ShutdownTimeout, 2 * c.Worker.ShutdownTimeout, sending} {
		if grace := s.StopGracePeriod; grace == nil || time.Duration(*grace) < timeout+c.Intake.CommitTimeout+c.Postgres.StatementTimeout {
			t.Errorf("%s is killed after %v, while stopping may take %v and the last commits", s.Name, grace, timeout)
		}
	}
}

func TestComposeStartsThingsInOrder(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	for name, want := range map[string]map[string]string{
		"migrate":  {"postgres": types.ServiceConditionHealthy},
		"seed":     {"migrate": types.ServiceConditionCompletedSuccessfully},
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
	for _, name := range []string{"migrate", "seed"} {
		if s := service(t, p, name); s.Restart != types.RestartPolicyNo {
			t.Errorf("%s is started again: %q", name, s.Restart)
		}
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

	// A range, since several workers run on one machine.
	if ports := service(t, p, "worker").Ports; len(ports) != 1 || ports[0].Target != 8082 || !strings.Contains(ports[0].Published, "-") {
		t.Errorf("worker publishes %v", ports)
	}
	if queues := service(t, p, "asynqmon").Command; !slices.Contains(queues, "--read-only") {
		t.Errorf("asynqmon may change the queues: %q", queues)
	}
}

var fullVersion = regexp.MustCompile(`^postgres:\d+\.\d+-\w+$|:v?\d+\.\d+\.\d+(-\w+)?$`)

// What is not built here has one version, and nothing fills the disk.
func TestComposePinsImagesAndBoundsLogs(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	for name, s := range p.Services {
		if !slices.Contains(ours, name) && !fullVersion.MatchString(s.Image) {
			t.Errorf("the version of %s is open: %s", name, s.Image)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" || s.Logging.Options["max-file"] == "" {
			t.Errorf("the log of %s grows without bound", name)
		}
	}
}

// The examples themselves are tested in internal/postgres.
func TestComposeSeeds(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	seed := service(t, p, "seed")
	if len(seed.Configs) != 1 || !strings.HasSuffix(p.Configs[seed.Configs[0].Source].File, "/configs/examples.sql") ||
		!strings.Contains(strings.Join(seed.Command, " "), "-f "+seed.Configs[0].Target) {
		t.Errorf("seed executes %q with %v", seed.Command, seed.Configs)
	}
	secretFile(t, p, seed, "postgres_password")
	for examples, want := range map[string]int{"": 1, "0": 0} {
		s := service(t, project(t, types.Mapping{"EXAMPLES": examples}), "seed")
		if s.Scale == nil || *s.Scale != want {
			t.Errorf("with EXAMPLES=%s, seed runs %v times, want %d", examples, s.Scale, want)
		}
	}
}
