package httpserver

import (
	"net"
	"net/url"
	"strings"
	"testing"
)

// FuzzHost checks that a Host that passes is an IP address or a known name.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"", "localhost", "LOCALHOST:80", "127.0.0.1:8025", "[::1]:1", "::1", "localhost.evil.example", "127.0.0.1.evil.example", "[localhost]", "localhost:", ":80", "10.0.0.7", "[[::1]]", "localhost:80:80", "\x00", "Own.Example.", "own.example..", "own.example:1", ":@0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !knownHost(host, []string{"own.example"}) {
			return
		}
		u, err := url.Parse("http://" + host)
		if err != nil || strings.Trim(host, "[]") != host {
			return // browsers do not send it
		}
		name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		if name != "" && name != "localhost" && name != "own.example" && net.ParseIP(name) == nil {
			t.Errorf("%q passes", host)
		}
	})
}
