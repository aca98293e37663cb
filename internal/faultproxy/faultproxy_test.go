package faultproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/faultproxy"
)

// echo is a server that answers each line with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

// client is a connection to the server through the proxy.
type client struct {
	t *testing.T
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, p *faultproxy.Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

// ask writes a line and returns what happened: "" = it was answered, "cut" =
// the connection ended, "silence" = no answer came for a while.
func (c *client) ask() string {
	c.t.Helper()
	_ = c.SetDeadline(time.Now().Add(time.Second)) // long enough for a busy machine
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		return "cut"
	}
	line, err := c.lines.ReadString('\n')
	switch {
	case err == nil && line == "hello\n":
		return ""
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "silence"
	default:
		return "cut"
	}
}

func start(t *testing.T) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Start(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestProxy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		fault         faultproxy.Fault
		first, second string // on a connection that was open before
		new           string // on a connection that is made afterwards
	}{
		{"passes on", faultproxy.None, "", "", ""},
		{"cuts a request once", faultproxy.CutRequest, "cut", "cut", ""},
		{"cuts a reply once", faultproxy.CutReply, "cut", "cut", ""},
		{"cuts a waiting client off, and lets no connection in", faultproxy.CutWaiting, "cut", "cut", "cut"},
		{"loses a reply, and with it that connection", faultproxy.LoseReply, "silence", "silence", ""},
		{"refuses everybody", faultproxy.Refuse, "cut", "cut", "cut"},
		{"swallows everything", faultproxy.BlackHole, "silence", "silence", "silence"},
		{"makes the present connections deaf", faultproxy.Deafen, "silence", "silence", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			c := dial(t, p)
			if got := c.ask(); got != "" {
				t.Fatalf("before: %q", got)
			}
			p.Set(test.fault)
			first, second := c.ask(), c.ask()
			if fresh := dial(t, p).ask(); first != test.first || second != test.second || fresh != test.new {
				t.Errorf("got %q, %q, and on a new connection %q; want %q, %q and %q", first, second, fresh, test.first, test.second, test.new)
			}
			p.Set(faultproxy.None)
			if got := dial(t, p).ask(); got != "" {
				t.Errorf("afterwards: %q", got)
			}
		})
	}
}

func TestProxy_cuts_the_present_connections(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := dial(t, p)
	_ = c.ask()
	p.Cut()
	if got, fresh := c.ask(), dial(t, p).ask(); got != "cut" || fresh != "" {
		t.Errorf("got %q, and on a new connection %q", got, fresh)
	}
}

func TestProxy_delays_replies(t *testing.T) {
	t.Parallel()
	p := start(t)
	c := dial(t, p)
	const delay = 50 * time.Millisecond
	p.Delay(delay)
	for range 2 {
		began := time.Now()
		if got := c.ask(); got != "" || time.Since(began) < delay {
			t.Errorf("got %q after %s", got, time.Since(began))
		}
	}
	p.Delay(0)
	if got := c.ask(); got != "" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestProxy_does_not_need_the_server(t *testing.T) {
	t.Parallel()
	p, err := faultproxy.Start("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, p)
	if got := c.ask(); got != "cut" {
		t.Errorf("got %q", got)
	}
	p.Close()
}
