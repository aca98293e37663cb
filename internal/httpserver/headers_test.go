package httpserver_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/httpserver"
)

// withHeader returns a request with a header of this many bytes.
func withHeader(bytes int, form string) string {
	const first, end = "POST / HTTP/1.1\r\nHost: api\r\nContent-Length: 4\r\n", "\r\n"
	left := bytes - len(first) - len(end)
	switch form {
	case "one line":
		return first + "X: " + strings.Repeat("x", left-len("X: \r\n")) + "\r\n" + end + "body"
	case "many lines":
		var lines strings.Builder
		for n := 0; left >= 200; n++ {
			line := fmt.Sprintf("X-%d: ", n)
			line += strings.Repeat("x", 100-len(line)-len("\r\n")) + "\r\n"
			lines.WriteString(line)
			left -= len(line)
		}
		return first + lines.String() + "X: " + strings.Repeat("x", left-len("X: \r\n")) + "\r\n" + end + "body"
	default: // in the address
		return "POST /" + strings.Repeat("x", left) + strings.TrimPrefix(first, "POST /") + end + "body"
	}
}

// TestHeader_is_as_long_as_documented checks that a header may have 16 KiB and
// not a byte more, however the bytes are spread, on a new connection and on a
// used one.
func TestHeader_is_as_long_as_documented(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	httpserver.Prepare(server.Config)
	server.Start()
	defer server.Close()
	for _, form := range []string{"one line", "many lines", "the address"} {
		for _, before := range []int{0, 1, 3} {
			for bytes, want := range map[int]int{httpserver.MaxHeader: 200, httpserver.MaxHeader + 1: 431, 17 << 10: 431, 19 << 10: 431, 64 << 10: 431} {
				conn, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				answers := bufio.NewReader(conn)
				ask := func(request string) int {
					go func() { _, _ = io.WriteString(conn, request) }() // the server may stop reading
					answer, err := http.ReadResponse(answers, nil)
					if err != nil {
						t.Fatalf("%d bytes in %s after %d requests: %v", bytes, form, before, err)
					}
					defer answer.Body.Close()
					_, _ = io.Copy(io.Discard, answer.Body)
					return answer.StatusCode
				}
				for range before {
					if got := ask(withHeader(100, form)); got != http.StatusOK {
						t.Fatalf("a short one: %d", got)
					}
				}
				if got := ask(withHeader(bytes, form)); got != want {
					t.Errorf("%d bytes in %s after %d requests: %d, want %d", bytes, form, before, got, want)
				}
				conn.Close()
			}
		}
	}
}
