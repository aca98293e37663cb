package httpapi_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/redistest"
)

// logBook keeps everything that is logged.
type logBook struct {
	mu      sync.Mutex
	text    bytes.Buffer
	secrets []string
}

func (b *logBook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// watchFor remembers a text that must not be logged.
func (b *logBook) watchFor(secret string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.secrets = append(b.secrets, secret)
}

// secret returns the first line that holds something it must not, or "".
func (b *logBook) secret() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.SplitSeq(b.text.String(), "\n") {
		for _, each := range b.secrets {
			if strings.Contains(line, each) {
				return line
			}
		}
	}
	return ""
}

// Every other test looks for ids; this one for everything else, too.
func TestLog_holds_no_secret(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, database)
	s := start(t, place{database: database, through: proxy.URL(), redis: redistest.Start(t), commitTimeout: 5 * time.Second})
	startWorker(t, s)
	s.addRun("go-1", seats(1))
	for _, secret := range []string{"Quixotic", "quixotic", "secret.example", s.base, "abcd-wait", "4e0a4f06-7ac7", "letmein", organiserToken} {
		s.log.watchFor(secret)
	}
	const name, email = "Quixotic Person", "quixotic@secret.example"
	bad := func(c call) call { c.bad = true; return c }

	everything := func() {
		r := s.post("go-1", name, email, key, "letmein")
		s.post("go-1", name, "other-"+email, key, "letmein")
		s.post("go-1", name, email+".@")
		s.post("go-1", name+"\u202e", email)
		s.post("nowhere", name, email)
		c := s.asking("go-1", name, email)
		c.body = `{"name":"Quixotic","Quixotic":"quixotic@secret.example"}`
		s.do(bad(c))
		c.body = `{"name":"Quixotic Person"`
		s.do(bad(c))
		for _, path := range []string{
			"/v1/registrations/4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e", "/v1/registrations/4e0a4f06-7ac7", "/quixotic@secret.example",
			"/v1/runs/quixotic@secret.example", "/v1/courses/quixotic@secret.example", "/v1/runs?course=quixotic@secret.example",
			"/v1/registrations/4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e?wait=abcd-wait", "/v1/registrations/4e0a4f06-7ac7/x",
		} {
			s.do(call{method: http.MethodGet, path: path, bad: true, header: http.Header{"X-Request-Id": {"quixotic@secret.example"}}})
			s.do(call{method: http.MethodPut, path: path, bad: true})
		}
		if r.status == http.StatusAccepted {
			s.get(r.registration().Links.Self + "?wait=20")
			s.poll(r.registration().Links.Self, "quixotic@secret.example")
		}
		const person = `{"name": "Quixotic Other", "email": "another@secret.example"}`
		for _, c := range []call{
			organising(http.MethodPatch, "/v1/runs/go-1/registrations/1", person),
			organising(http.MethodPatch, "/v1/runs/go-1/registrations/2", person),
			organising(http.MethodPatch, "/v1/runs/go-1/registrations/quixotic@secret.example", person),
			organising(http.MethodPatch, "/v1/runs/go-1", person),
			organising(http.MethodGet, "/v1/runs/go-1/line", ""),
			organising(http.MethodGet, "/v1/runs/go-1/line?format=quixotic", ""),
			organising(http.MethodGet, "/v1/runs/go-1/line?format=csv&after=quixotic", ""),
			organising(http.MethodDelete, "/v1/runs/go-1/registrations/1", ""),
			{method: http.MethodDelete, path: "/v1/registrations/4e0a4f06-7ac7-4a1c-a6a5-0f3b1f4f7f0e"},
			{method: http.MethodGet, path: "/v1/runs/go-1/line", header: http.Header{"Authorization": {"Bearer letmein"}}},
		} {
			s.do(bad(c))
		}
		if r.status == http.StatusAccepted {
			s.cancel(r.registration())
		}
	}
	everything()
	proxy.Set(pgtest.Refuse)
	everything()

	text := s.log.String()
	for _, want := range []string{`"status":202`, `"status":200`, `"status":404`, `"status":422`, `"status":400`, `"status":503`,
		`"run":"go-1","ticket":1`, `"route":"/v1/registrations/:id"`, `"level":"ERROR"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s: does it keep everything?", want)
		}
	}
}

// TestLog_holds_no_path: a client that puts the id of a registration where a slug
// belongs has put it into no log, whether or not the database answers.
func TestLog_holds_no_path(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	proxy := pgtest.NewProxy(t, database)
	s := start(t, place{database: database, through: proxy.URL(), commitTimeout: 5 * time.Second})
	s.addRun("go-1", nil)
	id := uuid.New()
	pieces := []string{id.String(), strings.ReplaceAll(id.String(), "-", ""), strings.ToUpper(id.String()), "no-such-run"}
	for _, piece := range pieces {
		s.log.watchFor(piece)
	}
	everything := func() {
		for _, piece := range pieces {
			run := "/v1/runs/" + piece
			for _, c := range []call{
				{method: http.MethodGet, path: run},
				{method: http.MethodHead, path: run},
				{method: http.MethodGet, path: "/v1/courses/" + piece},
				{method: http.MethodGet, path: "/v1/runs?course=" + piece},
				{method: http.MethodGet, path: "/v1/" + piece},
				s.asking(piece, ada, adaEmail),
				s.asking(piece, ada, adaEmail, key, "k"),
				organising(http.MethodPatch, run, `{"capacity": 3}`),
				organising(http.MethodPost, run+"/close-waitlist", ""),
				organising(http.MethodPost, run+"/call-off", ""),
				organising(http.MethodDelete, run+"/registrations/1", ""),
				organising(http.MethodPatch, run+"/registrations/1", `{"name": "Ada", "email": "ada@example.org"}`),
				organising(http.MethodGet, run+"/line", ""),
				organising(http.MethodHead, run+"/line", ""),
				organising(http.MethodGet, run+"/mails", ""),
				organising(http.MethodPost, run+"/mails/"+id.String()+"/resend", ""),
				organising(http.MethodPost, "/v1/runs/go-1/mails/"+id.String()+"/resend", ""),
			} {
				c.bad = true
				if a := s.do(c); a.status < 400 && !strings.Contains(c.path, "?") {
					t.Errorf("%s %s got %d", c.method, c.path, a.status)
				}
			}
		}
	}
	everything()
	proxy.Set(pgtest.Refuse)
	everything()
	proxy.Set(pgtest.None)
	s.get("/v1/runs/go-1").expect(http.StatusOK)
	if text := s.log.String(); !strings.Contains(text, `"run":"go-1"`) || !strings.Contains(text, `"route":"/v1/runs/:run","took"`) {
		t.Error("the log names no run, or no route")
	}
}
