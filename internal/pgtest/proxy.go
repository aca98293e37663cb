package pgtest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between a client and a server, Postgres or another, and breaks on
// demand.
type Proxy struct {
	t      testing.TB
	listen net.Listener
	server string
	url    string

	mu    sync.Mutex
	fault Fault
	conns map[net.Conn]struct{}
	born  int // connections so far
	deaf  int // up to which they pass nothing on
	wg    sync.WaitGroup
}

// Fault is what a proxy does to what passes.
type Fault int

// The faults.
const (
	None       Fault = iota
	CutRequest       // once: close the connection instead of passing on the next request
	CutReply         // once: pass the next request on, and close the connection instead of passing on its reply
	CutWaiting       // once: pass the next request on, then close the client's side; the server does not notice
	Refuse           // close every connection, old and new
	BlackHole        // take everything and pass nothing on
	Deafen           // the same for the connections of now, for good; new ones pass
)

// NewProxy returns a proxy to the server of url.
func NewProxy(t testing.TB, rawURL string) *Proxy {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, listen: l, server: u.Host, conns: make(map[net.Conn]struct{})}
	u.Host = l.Addr().String()
	p.url = u.String()
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.closeAll()
		p.wg.Wait()
	})
	return p
}

// URL returns the URL that leads through the proxy.
func (p *Proxy) URL() string { return p.url }

// Set chooses the fault from now on.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	p.fault = f
	if f == Deafen {
		p.fault, p.deaf = None, p.born
	}
	p.mu.Unlock()
	if f == Refuse {
		p.closeAll()
	}
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.fault == Refuse
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.born++
		pair := &pair{proxy: p, number: p.born, client: client, server: server}
		p.mu.Unlock()
		p.wg.Go(func() { pair.pump(client, server, pair.request) })
		p.wg.Go(func() { pair.pump(server, client, pair.reply) })
	}
}

// pair is one connection through the proxy.
type pair struct {
	proxy          *Proxy
	number         int
	client, server net.Conn
	cutReply       bool // guarded by proxy.mu
}

func (p *pair) pump(from, to net.Conn, pass func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && pass(buffer[:n]) {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			if from == p.client && p.proxy.orphaned(p) {
				return // the server must not notice
			}
			break
		}
	}
	_ = p.client.Close()
	_ = p.server.Close()
}

// request tells whether what the client sent is passed on.
func (p *pair) request(b []byte) bool {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	if p.number <= p.proxy.deaf {
		return false
	}
	switch p.proxy.fault {
	case None, Refuse, Deafen:
	case CutRequest:
		p.proxy.fault = None
		_ = p.client.Close()
		_ = p.server.Close()
		return false
	case CutReply:
		p.proxy.fault, p.cutReply = None, true
	case CutWaiting:
		p.proxy.fault, p.cutReply = Refuse, true // a request to cancel must not get through either
		_, _ = p.server.Write(b)
		_ = p.client.Close()
		return false
	case BlackHole:
		return false
	}
	return true
}

func (p *pair) reply([]byte) bool {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	if p.cutReply {
		_ = p.client.Close()
		_ = p.server.Close()
		return false
	}
	return p.proxy.fault != BlackHole && p.number > p.proxy.deaf
}

// orphaned tells whether the server's side of the pair stays open although the
// client's is gone.
func (p *Proxy) orphaned(pair *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pair.cutReply
}
