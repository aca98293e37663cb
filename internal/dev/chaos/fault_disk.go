package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/dev/cluster"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// The room on the small disk: for an empty database and for what people write in a
// second. The disk is in memory, so chaos that lasts longer than diskLongest has
// none.
const (
	diskBase      = 512 << 20
	diskPerSecond = 2 << 20
	diskLongest   = time.Hour
)

// disk holds the ledger's tables: it is small enough to be filled.
type disk struct {
	path string
	size uint64
}

func diskSize(seconds int) uint64 { return diskBase + uint64(seconds)*diskPerSecond }

// createDatabase creates a stack's database on the server at url, on a small disk
// if this machine allows one. It returns the URL of the database, and why it has
// no such disk.
func createDatabase(ctx context.Context, url string, seconds int) (database string, d *disk, why string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", nil, "", err
	}
	defer conn.Close(ctx)
	var data string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&data); err != nil {
		return "", nil, "", err
	}
	d = &disk{path: filepath.Join(filepath.Dir(data), stack.DiskName), size: diskSize(seconds)}
	if time.Duration(seconds)*time.Second > diskLongest {
		why = fmt.Sprintf("the small disk is in memory, and for more than %s it would not be small", diskLongest)
	} else {
		why = d.mount(data)
	}
	if why != "" {
		database, err = cluster.EnsureDatabase(ctx, url, stack.Database)
		return database, nil, why, err
	}
	if _, err = conn.Exec(ctx, "CREATE TABLESPACE small LOCATION '"+d.path+"'"); err == nil {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+stack.Database+" TABLESPACE small")
	}
	if err != nil {
		return "", nil, "", fmt.Errorf("making a database on a small disk: %w", err)
	}
	database, err = cluster.EnsureDatabase(ctx, url, stack.Database)
	return database, d, "", err
}

// mount makes the disk and gives it to the owner of the data folder. It returns
// why it cannot.
func (d *disk) mount(data string) (why string) {
	info, err := os.Stat(data)
	if err == nil {
		err = os.MkdirAll(d.path, 0o700)
	}
	if err == nil {
		err = cluster.MountMemory(d.path, d.size)
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

// fillDisk makes the disk as small as its content: no table can grow, while what
// is there can be read and changed.
func fillDisk(ctx context.Context, s *system, r *rand.Rand, report reporter) (err error) {
	s.postgres.Lock()
	defer s.postgres.Unlock()
	if err := s.disk.fill(); err != nil {
		return err
	}
	defer func() {
		if e := cluster.ResizeMemory(s.disk.path, s.disk.size); err == nil {
			err = e
		}
	}()
	pause(ctx, r, 2*time.Second, 8*time.Second, report)
	return nil
}

// fill leaves no room. It tries again because more may be written after it read
// how much there is.
func (d *disk) fill() error {
	for attempt := 1; ; attempt++ {
		used, err := cluster.UsedMemory(d.path)
		if err != nil {
			return err
		}
		if err = cluster.ResizeMemory(d.path, used); err == nil {
			return nil
		}
		if attempt == 100 {
			return fmt.Errorf("filling the disk: %w", err)
		}
	}
}
