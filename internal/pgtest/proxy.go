package pgtest

import (
	"net/url"
	"testing"

	"github.com/lastseat/lastseat/internal/faultproxy"
)

// Fault is what a Proxy does to what passes.
type Fault = faultproxy.Fault

// The faults.
const (
	None       = faultproxy.None
	CutRequest = faultproxy.CutRequest
	CutReply   = faultproxy.CutReply
	CutWaiting = faultproxy.CutWaiting
	LoseReply  = faultproxy.LoseReply
	Refuse     = faultproxy.Refuse
	BlackHole  = faultproxy.BlackHole
	Deafen     = faultproxy.Deafen
)

// Proxy is a faultproxy that ends with the test.
type Proxy struct {
	*faultproxy.Proxy
	url string
}

// NewProxy returns a proxy to the server of url, Postgres or another.
func NewProxy(t testing.TB, rawURL string) *Proxy {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := faultproxy.Start(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	u.Host = p.Addr()
	return &Proxy{Proxy: p, url: u.String()}
}

// URL returns the URL that leads through the proxy.
func (p *Proxy) URL() string { return p.url }
