// Package faultproxy is a proxy between a process and a server, such as
// Postgres or Redis, that does what networks do: it cuts connections, and
// delays and swallows bytes. It is for development and tests only.
//
// It knows bytes and connections, but no protocol. Everything that a client
// writes before the server's next answer counts as one request.
package faultproxy

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Fault is what a proxy does to the connections through it.
type Fault int

// The faults.
const (
	None       Fault = iota
	CutRequest       // once: close the connection instead of passing on the next request
	CutReply         // once: pass on the next request, and close the connection instead of passing on its reply
	CutWaiting       // once: pass on the next request, then close the client's side; the server does not notice
	LoseReply        // once: pass on the next request, and nothing more on that connection; neither side notices
	Refuse           // close every connection, old and new
	BlackHole        // read everything and pass on nothing
	Deafen           // the same for the present connections, for good; new ones work
)

// Proxy is a proxy to one server.
type Proxy struct {
	listen net.Listener
	server string

	mu     sync.Mutex
	fault  Fault
	delay  time.Duration // of replies
	conns  map[net.Conn]struct{}
	born   int // how many connections there were; they are numbered from 1
	deaf   int // connections up to this number pass on nothing
	closed bool
	wg     sync.WaitGroup
}

// dialTimeout is how long connecting to the server may take.
const dialTimeout = 2 * time.Second

// Start starts a proxy to the server at host:port, on a free port of 127.0.0.1.
// The server need not run yet.
func Start(server string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a proxy: %w", err)
	}
	p := &Proxy{listen: l, server: server, conns: make(map[net.Conn]struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr returns the host:port that leads through the proxy.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Close closes every connection and the listener.
func (p *Proxy) Close() {
	_ = p.listen.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.wg.Wait()
}

// Set sets the fault. Refuse and BlackHole last until the next call. A fault
// that happens once is followed by None.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	p.fault = f
	if f == Deafen {
		p.fault, p.deaf = None, p.born
	}
	p.mu.Unlock()
	if f == Refuse {
		p.Cut()
	}
}

// Delay delays every reply by d from now on.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Cut closes the present connections.
func (p *Proxy) Cut() {
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
		server, err := net.DialTimeout("tcp", p.server, dialTimeout)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		if p.closed || p.fault == Refuse { // since the check above
			p.mu.Unlock()
			_, _ = client.Close(), server.Close()
			continue
		}
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.born++
		pair := &pair{proxy: p, number: p.born, client: client, server: server}
		p.mu.Unlock()
		var pumps sync.WaitGroup
		pumps.Go(func() { pair.pump(client, server, pair.request) })
		pumps.Go(func() { pair.pump(server, client, pair.reply) })
		p.wg.Go(func() {
			pumps.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.conns, client)
			delete(p.conns, server)
		})
	}
}

// pair is one connection through the proxy.
type pair struct {
	proxy          *Proxy
	number         int
	client, server net.Conn

	// Guarded by proxy.mu.
	cutReply bool // close instead of passing on the reply
	orphan   bool // the server must not notice that the client is gone
	mute     bool // pass on nothing any more
	asked    bool // a request was passed on since the last reply
}

// pump copies the bytes for which pass returns true.
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
			if from == p.client && p.isOrphan() {
				return
			}
			break
		}
	}
	_ = p.client.Close()
	_ = p.server.Close()
}

// request tells whether to pass on what the client sent.
func (p *pair) request(b []byte) bool {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	if p.number <= p.proxy.deaf || p.mute {
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
		p.proxy.fault, p.cutReply, p.orphan = Refuse, true, true // refuse, so that no cancel request gets through either
		_, _ = p.server.Write(b)
		_ = p.client.Close()
		return false
	case LoseReply:
		p.proxy.fault, p.mute = None, true
	case BlackHole:
		return false
	}
	p.asked = true
	return true
}

// reply waits for the delay, and tells whether to pass on what the server
// answered.
func (p *pair) reply([]byte) bool {
	if !p.awaitTurn() {
		return false
	}
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	if p.cutReply {
		_ = p.client.Close()
		_ = p.server.Close()
		return false
	}
	return p.proxy.fault != BlackHole
}

// awaitTurn waits for the delay of replies, and tells whether the connection
// still passes on anything. Only the first part of a reply waits.
func (p *pair) awaitTurn() bool {
	p.proxy.mu.Lock()
	delay := p.proxy.delay
	if !p.asked {
		delay = 0
	}
	p.asked = false
	p.proxy.mu.Unlock()
	time.Sleep(delay)
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	return p.number > p.proxy.deaf && !p.mute
}

func (p *pair) isOrphan() bool {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	return p.orphan
}
