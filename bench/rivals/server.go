package rivals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Options of a contender's process.
type Options struct {
	Contender Contender
	Listen    string // host:port
	Postgres  string // the URL of its database
	Redis     string // a URL
	Pool      int    // connections to Postgres
}

// server is a contender's process.
type server struct {
	Options
	db      *db
	backend backend
	log     *slog.Logger
}

// Serve serves the contender over HTTP until ctx ends.
func Serve(ctx context.Context, o Options, log *slog.Logger) error {
	s, err := open(ctx, o, log)
	if err != nil {
		return fmt.Errorf("opening %s: %w", o.Contender.Name, err)
	}
	defer s.close()
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	h := &http.Server{ // Lastseat's timeouts, since each costs a little
		Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 38 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	ended := context.AfterFunc(ctx, func() { _ = h.Close() }) // nothing is measured any more
	defer ended()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// open opens the contender's database and its backend.
func open(ctx context.Context, o Options, log *slog.Logger) (*server, error) {
	s := &server{Options: o, log: log}
	var err error
	if s.db, err = openDB(ctx, o.Postgres, o.Pool, nil); err != nil {
		return nil, err
	}
	s.db.patience = patience
	if s.backend, err = o.Contender.open(ctx, s); err != nil {
		s.db.Close()
		return nil, err
	}
	return s, nil
}

func (s *server) close() {
	if closer, ok := s.backend.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			s.log.Warn("closing the queue", "error", err)
		}
	}
	s.db.Close()
}

// routes are the ones of Lastseat that are measured, and one that names the
// contender.
func (s *server) routes() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.Use(gin.RecoveryWithWriter(io.Discard))
	e.GET("/ready", func(c *gin.Context) { c.String(http.StatusOK, s.Contender.Name) })
	e.POST("/v1/runs/:run/registrations", s.register)
	e.GET("/v1/registrations/:id", s.hold)
	return e
}

// registerInput is the body of a request for a seat, and registration that of an answer.
type registerInput struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type registration struct {
	ID     uuid.UUID `json:"id"`
	Run    string    `json:"run"`
	Status outcome   `json:"status"`
	Name   string    `json:"name"`
	Email  string    `json:"email"`
}

// maxBody is the longest body that is read, in bytes: Lastseat's default.
const maxBody = 16 << 10

// statuses are the HTTP statuses of the outcomes.
var statuses = map[outcome]int{
	seated: http.StatusCreated, queued: http.StatusAccepted, full: http.StatusConflict, already: http.StatusConflict,
	gaveUp: http.StatusServiceUnavailable,
}

// register parses and validates as Lastseat does, and asks the backend.
func (s *server) register(c *gin.Context) {
	slug, err := enroll.ParseSlug(c.Param("run"))
	if err != nil {
		s.problem(c, http.StatusNotFound, "not_found")
		return
	}
	if media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || media != "application/json" {
		s.problem(c, http.StatusUnsupportedMediaType, "unsupported_media_type")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		s.problem(c, http.StatusRequestEntityTooLarge, "too_large")
		return
	}
	var w registerInput
	if err := json.Unmarshal(body, &w, json.RejectUnknownMembers(true)); err != nil {
		s.problem(c, http.StatusBadRequest, "malformed")
		return
	}
	a, err := enroll.NewRegister(enroll.RegisterInput{Run: slug, Name: w.Name, Email: w.Email})
	if err != nil {
		s.problem(c, http.StatusUnprocessableEntity, "invalid")
		return
	}
	o, found, err := s.ask(c.Request.Context(), a)
	switch {
	case err != nil:
		s.log.Error("a request failed", "error", err)
		s.problem(c, http.StatusInternalServerError, "internal")
	case !found:
		s.problem(c, http.StatusNotFound, "not_found")
	case statuses[o] >= 400:
		s.problem(c, statuses[o], string(o))
	default:
		if s.Contender.Recording {
			c.Header("Location", "/v1/registrations/"+a.ID.String())
		}
		c.JSON(statuses[o], registration{ID: a.ID, Run: slug, Status: o, Name: string(a.Name), Email: a.Address.Typed})
	}
}

func (s *server) ask(ctx context.Context, a enroll.Submission) (o outcome, found bool, err error) {
	var run int32
	if s.Contender.Name != Ceiling {
		if run, found, err = s.db.run(ctx, a.Run); err != nil || !found {
			return "", found, err
		}
	}
	o, err = s.backend.ask(ctx, run, person{id: a.ID, name: string(a.Name), email: a.Address.Typed, key: string(a.Address.Key)})
	return o, true, err
}

// problem answers with a problem (RFC 9457).
func (s *server) problem(c *gin.Context, status int, code string) {
	c.Header("Content-Type", "application/problem+json") // kept by JSON
	c.AbortWithStatusJSON(status, gin.H{"title": http.StatusText(status), "status": status, "code": code})
}
