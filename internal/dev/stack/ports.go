package stack

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/lastseat/lastseat/internal/dev/filelock"
	"github.com/lastseat/lastseat/internal/dev/proc"
)

// listener is one of the listeners of a stack.
type listener struct {
	name   string
	known  int // the port that people know it by
	offset int // from Options.Port
}

var (
	portAPI         = listener{"the API", 8080, 0}
	portAPIAdmin    = listener{"the API's admin listener", 8081, 1}
	portWorkerAdmin = listener{"the worker's admin listener", 8082, 2}
	portMailPage    = listener{"the mail sink's page", 8025, 3}
	portMailServer  = listener{"the mail sink", 1025, 4}
)

// LastPort is the highest Options.Port.
const LastPort = 65535 - 4

// wish is the port that a listener is to have.
type wish struct {
	name    string
	port    int  // 0 = any
	insists bool // any other port is an error
}

func (o Options) port(l listener) wish {
	switch {
	case o.Port != 0:
		return wish{l.name, o.Port + l.offset, true}
	case o.KnownPorts:
		return wish{l.name, l.known, false}
	}
	return wish{name: l.name}
}

// listen listens on the wished port, or else on any.
func (t *Tool) listen(w wish) (net.Listener, error) {
	if w.port != 0 {
		address := "127.0.0.1:" + strconv.Itoa(w.port)
		l, err := net.Listen("tcp", address)
		if err == nil {
			return l, nil
		}
		if w.insists {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		t.Log.Printf("%s is in use: %s gets another port", address, w.name)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// LockPorts lets one instance at a time choose ports and listen on them: two that
// start together would choose the same. Closing the file releases the lock.
func (t *Tool) LockPorts(ctx context.Context) (*os.File, error) {
	return filelock.Await(ctx, t.dotDev("ports.lock"))
}

// choosePorts returns three addresses on which no program listens: for the API,
// its admin listener and the worker's admin listener.
func (t *Tool) choosePorts(o Options) ([]string, error) {
	var addresses []string
	for _, l := range []listener{portAPI, portAPIAdmin, portWorkerAdmin} {
		w := o.port(l)
		if w.port != 0 {
			free, err := t.listen(w)
			if err != nil {
				return nil, err
			}
			free.Close()
			if address := free.Addr().String(); free.Addr().(*net.TCPAddr).Port == w.port {
				addresses = append(addresses, address)
				continue
			}
		}
		for {
			port, err := proc.FreePort()
			if err != nil {
				return nil, err
			}
			if address := "127.0.0.1:" + port; !slices.Contains(addresses, address) {
				addresses = append(addresses, address)
				break
			}
		}
	}
	return addresses, nil
}
