package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// lineWriter writes a run's line as a document, entry by entry.
type lineWriter interface {
	begin(run string) error
	entry(e enroll.LineEntry) error
	end() error
}

const (
	flushEvery = 256              // entries
	sendWithin = 30 * time.Second // how long a client may take none of it
)

// getLine answers GET /v1/runs/{run}/line?after= with the whole line, which it
// never has in memory. What fails on the way breaks the answer off.
func (a *api) getLine(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	after, err := ticketParameter(c, "after", 0)
	if err != nil {
		return err
	}
	csv, err := wantsCSV(c)
	if err != nil {
		return err
	}
	s := newStream(c, run, csv)
	if c.Request.Method == http.MethodHead {
		ctx, cancel := reading(c)
		defer cancel()
		_, err := a.catalogue.Run(ctx, run)
		if found(c, run, err) != nil {
			return err
		}
		s.describe()
		c.Status(http.StatusOK)
		return nil
	}

	if err := a.recordLine(c, run, after, csv); err != nil {
		return err
	}
	// The line may take as long as the client, but no look into the database may.
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	silence := time.AfterFunc(readTimeout, cancel)
	defer silence.Stop()
	err = a.line.Line(ctx, run, after, func(e enroll.LineEntry) error {
		silence.Stop()
		if err := s.add(e); err != nil {
			return err
		}
		silence.Reset(readTimeout)
		return nil
	})
	if s.count > 0 {
		c.Set(runKey, run) // it exists, however this ends
	}
	if found(c, run, err) != nil {
		return err
	}
	return s.finish()
}

// recordLine records that a caller reads names and addresses, before it does.
func (a *api) recordLine(c *gin.Context, run string, after int64, csv bool) error {
	ctx, cancel := reading(c)
	defer cancel()
	entry := access.Entry{Action: access.LineRead, Run: run, Details: map[string]any{"after": after, "csv": csv}}
	return found(c, run, a.audit.Record(ctx, callerOf(c), entry))
}

// wantsCSV tells which of the two forms is asked for. The parameter goes before
// the header, which a browser's address bar cannot set.
func wantsCSV(c *gin.Context) (bool, error) {
	format, given := c.GetQuery("format")
	switch {
	case !given:
		return c.NegotiateFormat(gin.MIMEJSON, "text/csv") == "text/csv", nil
	case format == "csv", format == "json":
		return format == "csv", nil
	}
	return false, enroll.FaultIn("format", enroll.Invalid, "unknown", "must be json or csv")
}

// stream is a line on its way to a client.
type stream struct {
	lineWriter
	run      string
	csv      bool
	to       gin.ResponseWriter
	deadline *http.ResponseController
	buffer   *bufio.Writer
	count    int
}

func newStream(c *gin.Context, run string, csv bool) *stream {
	s := &stream{run: run, csv: csv, to: c.Writer, deadline: http.NewResponseController(c.Writer)}
	s.buffer = bufio.NewWriterSize(s, 32<<10)
	if csv {
		s.lineWriter = newCSVLine(s.buffer)
	} else {
		s.lineWriter = &jsonLine{w: s.buffer}
	}
	return s
}

// describe sets the headers, which a problem must not have.
func (s *stream) describe() {
	h := s.to.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	if s.csv {
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+s.run+`-line.csv"`)
	}
}

func (s *stream) start() error {
	if s.count > 0 {
		return nil
	}
	return s.begin(s.run)
}

func (s *stream) add(e enroll.LineEntry) error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.entry(e); err != nil {
		return err
	}
	if s.count++; s.count%flushEvery != 0 {
		return nil
	}
	if err := s.send(); err != nil {
		return err
	}
	s.to.Flush()
	return nil
}

func (s *stream) finish() error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	return s.send()
}

func (s *stream) send() error { return s.buffer.Flush() }

// Write sends what was gathered. A client may take long, as long as it takes
// something: the server's own limit is meant for answers that are short. The next
// request on the connection has that limit again.
func (s *stream) Write(b []byte) (int, error) {
	if !s.to.Written() {
		s.describe()
	}
	_ = s.deadline.SetWriteDeadline(time.Now().Add(sendWithin)) // a connection that is gone tells so when it is written to
	n, err := s.to.Write(b)
	if err != nil {
		err = &enroll.Error{Code: enroll.Unavailable, Err: fmt.Errorf("%w: %w", errLeft, err)}
	}
	return n, err
}
