package mailsink

import (
	"net/http"

	"github.com/lastseat/lastseat/internal/httpserver"
)

// pagePolicy lets our own pages use only our own files.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// boxPolicy lets a message's HTML do nothing but be shown. Its links may open
// ordinary new windows.
const boxPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; " +
	"style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

// guard lets in only requests that name this machine by one of its own names,
// and refuses the forms and scripts of other sites.
func guard(next http.Handler) http.Handler {
	next = httpserver.OnlyHosts(http.NewCrossOriginProtection().Handler(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
