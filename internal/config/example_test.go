package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/lastseat/lastseat/internal/config"
)

// The environment overrides the file, and the file overrides the defaults. A
// secret does not print.
func ExampleLoad() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "lastseat.yaml")
	if err := os.WriteFile(file, []byte("api:\n  max_wait: 10s\n  max_polls: 5\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	c, err := config.Load(file, []string{
		"LASTSEAT_POSTGRES_URL=postgres://lastseat:hunter2@db.example.org/lastseat",
		"LASTSEAT_API_MAX_WAIT=20s",
	})
	fmt.Println(err)
	fmt.Println(c.API.MaxWait, c.API.MaxPolls, c.API.MaxBodyBytes)
	fmt.Println(c.Postgres.URL)
	// Output:
	// <nil>
	// 20s 5 16384
	// [secret]
}

// Load reports every fault at once, each with its place.
func ExampleLoad_faults() {
	_, err := config.Load("", []string{
		"LASTSEAT_API_MAX_WAIT=1h",
		"LASTSEAT_API_MAX_POLLS=many",
		"LASTSEAT_API_MAX_POOLS=5",
	})
	fmt.Println(err)
	// Output:
	// 4 faults in the configuration:
	//   api.max_polls (LASTSEAT_API_MAX_POLLS): must be a whole number, not "many"
	//   LASTSEAT_API_MAX_POOLS: unknown variable
	//   api.max_wait (LASTSEAT_API_MAX_WAIT): must be 0s..25s, not 1h0m0s
	//   postgres.url (LASTSEAT_POSTGRES_URL): is missing: set it to postgres://user:password@host:port/database, or set LASTSEAT_POSTGRES_URL_FILE to the name of a file that holds it
}
