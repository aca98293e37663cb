package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
)

// maxBody is the longest body that is accepted, in bytes.
const maxBody = 1 << 20

// errInterrupted is the end of a connection that Interrupt ended.
var errInterrupted = errors.New("interrupted")

// Conn is a kept-alive connection, for one goroutine at a time.
type Conn struct {
	net.Conn
	r    *bufio.Reader
	etag []byte // of the last answer
	body []byte // the same
}

func newConn(c net.Conn) *Conn { return &Conn{Conn: c, r: bufio.NewReaderSize(c, 4<<10)} }

// Do sends the request and reads its answer. The tag and the body are valid until
// the next call.
func (c *Conn) Do(request []byte) (status int, etag, body []byte, err error) {
	if _, err = c.Write(request); err == nil {
		status, err = c.read()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errInterrupted
	}
	return status, c.etag, c.body, err
}

// read reads one answer. Of its headers, it interprets those that end it, and the
// ETag.
func (c *Conn) read() (status int, err error) {
	c.etag, c.body = c.etag[:0], c.body[:0]
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("an answer begins with %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("an answer begins with %q", line)
	}
	length := -1
	for {
		if line, err = c.line(); err != nil {
			return 0, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > maxBody {
				return 0, fmt.Errorf("an answer has the length %q", value)
			}
		case bytes.EqualFold(name, []byte("ETag")):
			c.etag = append(c.etag, value...)
		case bytes.EqualFold(name, []byte("Transfer-Encoding")), bytes.EqualFold(name, []byte("Connection")):
			// Answers are short and connections are kept alive, so neither is expected.
			return 0, fmt.Errorf("an answer with status %d has the header %q", status, line)
		}
	}
	switch {
	case status == 204 || status == 304 || status < 200:
		return status, nil // they have no body
	case length < 0:
		return 0, fmt.Errorf("an answer with status %d does not say how long it is", status)
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.r, c.body)
	return status, err
}

// line returns the next line without its end. It is valid until the next read.
func (c *Conn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err // also if the line is longer than the buffer
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
