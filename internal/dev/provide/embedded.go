package provide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lastseat/lastseat/internal/dev/filelock"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// Simulation is the name of our program that simulates a Redis.
const Simulation = "lastseat-miniredis"

// PostgresRepository is the environment variable with the URL of a mirror of
// Maven Central, which has the embedded Postgres.
const PostgresRepository = "LASTSEAT_DEV_POSTGRES_REPOSITORY"

// embed gets what Go modules bring in place of what is missing: binaries of
// Postgres, and a simulated Redis where that will do. Their modules and programs
// are built only here.
func (p Provider) embed(ctx context.Context, n Need, missing []dependency) error {
	lock, err := filelock.Await(ctx, filepath.Join(p.folder(), "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	var failures []error
	for _, d := range missing {
		switch {
		case d.name == postgresPackage.name && os.Geteuid() == 0:
			failures = append(failures, errors.New("the embedded Postgres is for ordinary users, not for root"))
		case d.name == postgresPackage.name:
			failures = append(failures, p.embedPostgres(ctx))
		case d.name == redisPackage.name && n.Simulation:
			failures = append(failures, p.embedRedis(ctx))
		default:
			failures = append(failures, fmt.Errorf("no Go module brings %s", d.name))
		}
	}
	return errors.Join(failures...)
}

func (p Provider) embedPostgres(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("fetching the embedded Postgres: %w", err)
	}
	program, err := p.buildTool(ctx, "embeddedpostgres", "embeddedpostgres")
	if err != nil {
		return err
	}
	from := cmp.Or(p.Getenv(PostgresRepository), "Maven Central")
	p.Log.Printf("Postgres: fetching the embedded one (10 to 35 MB) from %s into %s", from, cache)
	began := time.Now()
	stop := p.Log.Progress(ctx, 3*time.Second, func() string {
		return fmt.Sprintf("fetching the embedded Postgres: %d s", int(time.Since(began).Seconds()))
	})
	defer stop()
	out := p.Log.Lines("dev")
	err = proc.Run(ctx, proc.Command{
		Name: "fetching the embedded Postgres", Dir: p.Root, Stdout: out, Stderr: out,
		Args: []string{program, filepath.Join(cache, "lastseat"), filepath.Join(p.folder(), "embedded-postgres"), p.Getenv(PostgresRepository)},
	})
	if err != nil {
		return fmt.Errorf("the embedded Postgres could not be fetched, see above (%w)", err)
	}
	return nil
}

func (p Provider) embedRedis(ctx context.Context) error {
	p.Log.Printf("Redis: building miniredis, which simulates one; good enough to try Lastseat, not to test or to measure it")
	_, err := p.buildTool(ctx, "miniredis", Simulation)
	return err
}

// buildTool builds one of the programs below cmd/dev and returns its path.
func (p Provider) buildTool(ctx context.Context, name, program string) (string, error) {
	path := filepath.Join(p.folder(), name, "bin", program)
	out := p.Log.Lines("dev")
	err := proc.Run(ctx, proc.Command{
		Name: "go build", Dir: p.Root, Stdout: out, Stderr: out, Env: append(os.Environ(), "CGO_ENABLED=0"),
		Args: []string{"go", "build", "-buildvcs=false", "-o", path, "./cmd/dev/" + name},
	})
	if err != nil {
		return "", fmt.Errorf("building cmd/dev/%s: %w", name, err)
	}
	return path, nil
}
