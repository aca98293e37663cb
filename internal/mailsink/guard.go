package mailsink

import (
	"net"
	"net/http"
	"strings"
)

// pagePolicy is what our own pages may do: use our own files, and that is all.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// boxPolicy is what a message's HTML may do: be looked at. Links may open a new
// window, which is an ordinary one.
const boxPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; " +
	"style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

// guard lets in who asks for this machine by its own name, and no other site's
// forms and scripts.
func guard(addr net.Addr, next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		if !isOurs(r.Host, addr) {
			http.Error(w, "this page is only for the machine it runs on", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOurs keeps a stranger's page from reading ours through a name of its own
// that leads to this machine (DNS rebinding). The port does not matter: it may
// be forwarded.
func isOurs(host string, addr net.Addr) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	own, _, err := net.SplitHostPort(addr.String())
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1" || err == nil && host == own
}
