package httpserver

import "net/http"

const (
	// MaxHeader is the largest header of a request in bytes, including the
	// request line.
	MaxHeader = 16 << 10

	// slop is how far net/http reads beyond Server.MaxHeaderBytes before it
	// refuses a header. On a kept-alive connection it can be twice that,
	// because net/http does not count what it read while the connection was
	// idle.
	slop = 4 << 10

	chunked = len("Transfer-Encoding: chunked\r\n")
)

// Prepare makes a server enforce MaxHeader and leave all answers to its
// handler.
func Prepare(s *http.Server) {
	s.MaxHeaderBytes = MaxHeader - slop
	s.Handler = limitHeader(s.Handler)
	// net/http would answer OPTIONS * with a 200 that docs/openapi.yaml does
	// not have.
	s.DisableGeneralOptionsHandler = true
}

// limitHeader refuses headers over MaxHeader that net/http lets through, with
// the same answer.
func limitHeader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headerSize(r) > MaxHeader {
			w.Header().Set("Connection", "close")
			http.Error(w, "431 Request Header Fields Too Large", http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headerSize returns the size of a request's header in bytes, without optional
// blanks.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(" ") + len(r.RequestURI) + len(" ") + len(r.Proto) + len("\r\n") + len("\r\n")
	line := func(name, value string) { n += len(name) + len(": ") + len(value) + len("\r\n") }
	for name, values := range r.Header {
		for _, value := range values {
			line(name, value)
		}
	}
	// net/http removes these from r.Header.
	line("Host", r.Host)
	if len(r.TransferEncoding) > 0 {
		n += chunked
	}
	for name := range r.Trailer {
		line("Trailer", name)
	}
	return n
}
