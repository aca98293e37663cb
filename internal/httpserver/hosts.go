package httpserver

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// OnlyHosts answers 421 to a request unless its Host is an IP address,
// localhost, or one of the names, which have no port.
//
// It protects a listener without a login from DNS rebinding: another site can
// point a host name of its own to this machine, and a browser then lets its
// pages read the answers. An IP address cannot be pointed elsewhere, so every
// IP address passes. A request without a Host passes, because browsers always
// send one. The port does not matter, because it may be forwarded.
func OnlyHosts(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knownHost(r.Host, names) {
			http.Error(w, "the Host of a request must be an IP address, localhost, or a configured name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func knownHost(host string, names []string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" { // in a URL, "user:@name" is a login at name
			return false
		}
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	is := func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) }
	return host == "" || net.ParseIP(host) != nil || is("localhost") || slices.ContainsFunc(names, is)
}
