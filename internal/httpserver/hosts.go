package httpserver

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// OnlyHosts answers 421 to a request whose Host is neither an IP address, nor
// localhost, nor one of the names, given without a port.
//
// It protects what has no login against DNS rebinding: another site can point a
// name of its own to this machine, and its pages may then read whatever answers
// to that name. An IP address cannot be pointed elsewhere, so each of them is
// fine, and so is a request without a Host, which no browser sends. The port does
// not matter: it may be forwarded.
func OnlyHosts(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knownHost(r.Host, names) {
			http.Error(w, "the Host of a request must be an IP address, localhost, or a name that is configured", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func knownHost(host string, names []string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" { // "user:@name" in a URL is a login, and leads to name
			return false
		}
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	is := func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) }
	return host == "" || net.ParseIP(host) != nil || is("localhost") || slices.ContainsFunc(names, is)
}
