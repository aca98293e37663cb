// Command embeddedpostgres fetches binaries of Postgres for this machine, for
// ordinary users on systems whose packages `make run` cannot fetch.
//
//	embeddedpostgres CACHE FOLDER [REPOSITORY]
//
// CACHE keeps the archive. FOLDER, with bin/initdb and bin/postgres, appears once
// the server in it has run. REPOSITORY is the URL of a mirror of Maven Central.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// version is what is fetched. Its archive comes with a checksum, which the library
// compares.
const version = embeddedpostgres.V17

func main() {
	if len(os.Args) < 3 || len(os.Args) > 4 {
		fmt.Fprintln(os.Stderr, "usage: embeddedpostgres CACHE FOLDER [REPOSITORY]")
		os.Exit(2)
	}
	repository := ""
	if len(os.Args) == 4 {
		repository = os.Args[3]
	}
	if err := fetch(os.Args[1], os.Args[2], repository); err != nil {
		fmt.Fprintln(os.Stderr, "embeddedpostgres:", err)
		os.Exit(1)
	}
}

// fetch fetches and unpacks Postgres, and runs it once to see that it can.
func fetch(cache, folder, repository string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { //nolint:gosec // the caller is our own
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(folder), "embedded-postgres.new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() //nolint:gosec // as above
	programs := filepath.Join(scratch, "programs")
	var log bytes.Buffer
	c := embeddedpostgres.DefaultConfig().Version(version).Port(port).Logger(&log).
		StartParameters(map[string]string{"unix_socket_directories": ""}). // which not every user may write to
		CachePath(cache).BinariesPath(programs).RuntimePath(filepath.Join(scratch, "run"))
	if repository != "" {
		c = c.BinaryRepositoryURL(repository)
	}
	server := embeddedpostgres.NewDatabase(c)
	if err := server.Start(); err != nil {
		return fmt.Errorf("%w\n%s", err, &log)
	}
	if err := server.Stop(); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil { //nolint:gosec // as above
		return err
	}
	return os.Rename(programs, folder) //nolint:gosec // as above
}

func freePort() (uint32, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint32(l.Addr().(*net.TCPAddr).Port), nil
}
