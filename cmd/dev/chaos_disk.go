package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// diskName is the folder beside a cluster's data on which the small disk is
// mounted.
const diskName = "disk"

// What the small disk has room for: what a database has from the beginning and
// what people write in a second.
const (
	diskBase      = 512 << 20
	diskPerSecond = 2 << 20
	diskLongest   = time.Hour // it is in memory
)

// disk is where the ledger's tables are: small enough to be full.
type disk struct {
	path string
	size uint64
}

// diskSize returns how large the disk has to be.
func diskSize(seconds int) uint64 { return diskBase + uint64(seconds)*diskPerSecond }

// giveDisk makes the database lastseat on the server at url, on a disk of its own
// if this machine lets us make one. It returns the URL of the database, and why it
// has no such disk.
func giveDisk(ctx context.Context, url string, seconds int) (database string, d *disk, why string, err error) {
	const name = "lastseat"
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", nil, "", err
	}
	defer conn.Close(ctx)
	var data string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&data); err != nil {
		return "", nil, "", err
	}
	d = &disk{path: filepath.Join(filepath.Dir(data), diskName), size: diskSize(seconds)}
	switch {
	case time.Duration(seconds)*time.Second > diskLongest:
		why = fmt.Sprintf("the small disk is in memory, and for more than %s it would not be small", diskLongest)
	default:
		why = d.mount(data)
	}
	if why != "" {
		database, err = ensureDatabase(ctx, url, name)
		return database, nil, why, err
	}
	if _, err = conn.Exec(ctx, "CREATE TABLESPACE small LOCATION '"+d.path+"'"); err == nil {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+name+" TABLESPACE small")
	}
	if err != nil {
		return "", nil, "", wrap("making a database on a small disk", err)
	}
	database, err = ensureDatabase(ctx, url, name)
	return database, d, "", err
}

// mount makes the disk and gives it to whoever has the data folder. It returns why
// it cannot.
func (d *disk) mount(data string) (why string) {
	info, err := os.Stat(data)
	if err == nil {
		err = os.MkdirAll(d.path, 0o700)
	}
	if err == nil {
		err = mountMemory(d.path, d.size)
	}
	if err != nil {
		return fmt.Sprintf("a small disk cannot be mounted: %s", err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := os.Chown(d.path, int(owner.Uid), int(owner.Gid)); err != nil {
		return err.Error()
	}
	return ""
}

func (s *site) whyNoFullDisk() string { return s.whyNoDisk }

// diskFull makes the disk as small as what is on it: no table can grow, while what
// is there can be read and changed.
func diskFull(ctx context.Context, s *site, r *rand.Rand, tell teller) (err error) {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	if err := s.disk.fill(); err != nil {
		return err
	}
	defer func() {
		if e := resizeMemory(s.disk.path, s.disk.size); err == nil {
			err = e
		}
	}()
	away := between(r, 2*time.Second, 8*time.Second)
	tell("for %s", away.Round(10*time.Millisecond))
	sleep(ctx, away)
	return nil
}

// fill leaves no room. More may be written while it looks at how much there is.
func (d *disk) fill() error {
	for attempt := 1; ; attempt++ {
		used, err := usedMemory(d.path)
		if err != nil {
			return err
		}
		if err = resizeMemory(d.path, used); err == nil || attempt == 100 {
			return wrap("filling the disk", err)
		}
	}
}
