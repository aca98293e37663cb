package httpserver

import "net/http"

const (
	// MaxHeader is the most bytes that the header of a request may have, its
	// first line included.
	MaxHeader = 16 << 10

	// slop is how far net/http reads beyond Server.MaxHeaderBytes before it
	// refuses a header. On a kept-alive connection it can be as much again: what
	// was read while the connection was idle is not counted.
	slop = 4 << 10

	chunked = len("Transfer-Encoding: chunked\r\n")
)

// Prepare has a server hold the headers of requests to MaxHeader, and leave all
// answers to its handler.
func Prepare(s *http.Server) {
	s.MaxHeaderBytes = MaxHeader - slop
	s.Handler = limitHeader(s.Handler)
	// The library would answer OPTIONS * with a 200 that no document knows.
	s.DisableGeneralOptionsHandler = true
}

// limitHeader refuses, as the library does, the headers over MaxHeader that it
// lets pass.
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

// headerSize returns how many bytes the header of a request had, without needless
// blanks.
func headerSize(r *http.Request) int {
	n := len(r.Method) + len(" ") + len(r.RequestURI) + len(" ") + len(r.Proto) + len("\r\n") + len("\r\n")
	line := func(name, value string) { n += len(name) + len(": ") + len(value) + len("\r\n") }
	for name, values := range r.Header {
		for _, value := range values {
			line(name, value)
		}
	}
	// The library takes these out of r.Header.
	line("Host", r.Host)
	if len(r.TransferEncoding) > 0 {
		n += chunked
	}
	for name := range r.Trailer {
		line("Trailer", name)
	}
	return n
}
