package mailsink

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"mime"
	"net"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/httpserver"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"short": func(n int, s string) string { return short(s, n) },
	"line":  func(s string) string { return strings.Join(strings.Fields(short(s, 400)), " ") },
	"join":  func(s []string) string { return strings.Join(s, ", ") },
	"name":  name,
	"inc":   func(i int) int { return i + 1 },
	"text":  func(b []byte) string { return valid(string(b)) },
	"links": links,
	"clock": clock,
	"size":  size,
}).ParseFS(templateFiles, "templates/*.html"))

// servePage shows the messages on l until ctx ends.
func (s *Sink) servePage(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           guard(s.routes()),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends the live events
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      time.Minute,
	}
	httpserver.Prepare(server)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving the page on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close() // cut off requests in flight, which only read
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the page on %s: %w", l.Addr(), err)
	}
	return nil
}

func (s *Sink) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)                                     // all messages, live
	mux.HandleFunc("GET /events", s.events)                                // live updates of the list
	mux.HandleFunc("POST /clear", s.clear)                                 // remove all messages
	mux.HandleFunc("GET /messages/{number}", s.message)                    // one; ?view=html, text or headers
	mux.HandleFunc("GET /messages/{number}/html", s.html)                  // its HTML part, for the frame in the page
	mux.HandleFunc("GET /messages/{number}/raw", s.raw)                    // unchanged
	mux.HandleFunc("GET /messages/{number}/attachments/{i}", s.attachment) // to save; from 1
	mux.HandleFunc("GET /api/messages", s.apiList)                         // the same for scripts
	mux.HandleFunc("GET /api/messages/{number}", s.apiMessage)
	mux.HandleFunc("DELETE /api/messages", s.apiClear)
	mux.Handle("GET /static/", http.FileServerFS(staticFiles))
	return mux
}

type listPage struct {
	Messages []Message // newest first
	Newest   string    // the event id of the newest
}

func (s *Sink) list(w http.ResponseWriter, _ *http.Request) {
	now := s.look()
	slices.Reverse(now.messages)
	render(w, http.StatusOK, "list.html", listPage{now.messages, s.eventID(now.received)})
}

func (s *Sink) clear(w http.ResponseWriter, r *http.Request) {
	s.Clear()
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// The views of a message.
const (
	viewHTML    = "html"
	viewText    = "text"
	viewHeaders = "headers"
)

type messagePage struct {
	Message
	View         string
	Older, Newer int // numbers; 0 if there is none
}

func (s *Sink) message(w http.ResponseWriter, r *http.Request) {
	now := s.look()
	number, _ := strconv.Atoi(r.PathValue("number")) // no message has 0
	m, ok := now.find(number)
	if !ok {
		render(w, http.StatusNotFound, "gone.html", nil)
		return
	}
	page := messagePage{Message: m, View: r.FormValue("view")}
	switch page.View {
	case viewHTML, viewText, viewHeaders:
	default:
		page.View = viewText
		if m.HTML != "" {
			page.View = viewHTML
		}
	}
	if older, ok := now.find(number - 1); ok {
		page.Older = older.Number
	}
	if newer, ok := now.find(number + 1); ok {
		page.Newer = newer.Number
	}
	render(w, http.StatusOK, "message.html", page)
}

// asked returns the message that the path names, or answers 404 itself.
func (s *Sink) asked(w http.ResponseWriter, r *http.Request) (Message, bool) {
	number, _ := strconv.Atoi(r.PathValue("number")) // no message has 0
	m, ok := s.look().find(number)
	if !ok {
		http.Error(w, "there is no such message", http.StatusNotFound)
	}
	return m, ok
}

var doctype = regexp.MustCompile(`(?i)^\s*<!doctype[^>]*>`)

// html answers with the message's own HTML. A page shows it only in a frame,
// without scripts, forms and anything from the network. Its links open a new
// window, as in a mail program.
func (s *Sink) html(w http.ResponseWriter, r *http.Request) {
	m, ok := s.asked(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Security-Policy", boxPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	start := doctype.FindString(m.HTML) // must stay first
	fmt.Fprint(w, start, `<base target="_blank">`, m.HTML[len(start):])
}

func (s *Sink) raw(w http.ResponseWriter, r *http.Request) {
	if m, ok := s.asked(w, r); ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(m.Raw) // the client may be gone
	}
}

func (s *Sink) attachment(w http.ResponseWriter, r *http.Request) {
	m, ok := s.asked(w, r)
	if !ok {
		return
	}
	i, _ := strconv.Atoi(r.PathValue("i"))
	if i < 1 || i > len(m.Attachments) {
		http.Error(w, "no such attachment", http.StatusNotFound)
		return
	}
	a := m.Attachments[i-1]
	// Whatever type the message gives, the browser only saves the bytes.
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
	_, _ = w.Write(a.Body) // the client may be gone
}

// render answers with a complete page, or with 500.
func render(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := templates.ExecuteTemplate(&page, name, data); err != nil {
		http.Error(w, "rendering the page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the client may be gone
}

var link = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>".,;:!?)\]]`)

// piece is a piece of text, with its URL if it is a link.
type piece struct{ Text, URL string }

// links splits text at the links in it.
func links(text string) []piece {
	var pieces []piece
	done := 0
	for _, at := range link.FindAllStringIndex(text, -1) {
		url := text[at[0]:at[1]]
		pieces = append(pieces, piece{Text: text[done:at[0]]}, piece{url, url})
		done = at[1]
	}
	return append(pieces, piece{Text: text[done:]})
}

// name returns the name in a From header, or the header if it has none.
func name(sender string) string {
	if a, err := mail.ParseAddress(short(sender, 400)); err == nil && a.Name != "" {
		return a.Name
	}
	return sender
}

// clock returns the time of day, with the date unless it is today.
func clock(t time.Time) string {
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2 Jan 15:04")
}

func size(b []byte) string {
	if len(b) < 1<<10 {
		return fmt.Sprintf("%d bytes", len(b))
	}
	if len(b) < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(len(b))/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(len(b))/(1<<20))
}
