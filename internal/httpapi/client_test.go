package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/testwait"
)

// client sends requests and holds everything that passes against the contract.
type client struct {
	t        testing.TB
	base     string
	log      *logBook
	contract contract
	http     *http.Client

	// Where time counts, the answers are held against the contract when the test
	// is over.
	later    bool
	mu       sync.Mutex
	unproved []func()
}

func newClient(t testing.TB, base string, log *logBook) *client {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, base: base, log: log, contract: c, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 400},
		Timeout:   testwait.Limit,
	}}
}

func (c *client) close() {
	c.http.CloseIdleConnections()
	for _, prove := range c.unproved {
		prove()
	}
}

// call is a request to be sent.
type call struct {
	method string
	path   string
	header http.Header
	body   string
	bad    bool // on purpose: only the response must keep to the contract
}

// do sends the call. It may be called from any goroutine.
func (c *client) do(what call) answer {
	c.t.Helper()
	a, err := c.try(what)
	if err != nil {
		c.t.Errorf("%s: %v", what.method, err)
	}
	return a
}

// try sends the call and returns an error if no answer came.
func (c *client) try(what call) (answer, error) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), what.method, c.base+strings.TrimPrefix(what.path, c.base), strings.NewReader(what.body))
	if err != nil {
		return answer{}, err
	}
	for name, values := range what.header {
		r.Header[name] = values
	}
	a := answer{t: c.t}
	sent := time.Now()
	response, err := c.http.Do(r)
	if err != nil {
		return answer{t: c.t}, err
	}
	defer response.Body.Close()
	a.body, err = io.ReadAll(response.Body)
	a.at = time.Now()
	a.took = a.at.Sub(sent)
	if err != nil {
		return a, err
	}
	a.status, a.header = response.StatusCode, response.Header
	if location := a.header.Get("Location"); strings.Contains(location, "/registrations/") {
		c.log.watchFor(location[strings.LastIndexByte(location, '/')+1:])
	}
	prove := func() {
		c.t.Helper()
		if err := c.contract.check(r, []byte(what.body), what.bad, response, a.body); err != nil {
			c.t.Errorf("%s %s is not as docs/openapi.yaml says: %v\n%d %v\n%s", what.method, what.path, err, a.status, a.header, a.body)
		}
	}
	if !c.later {
		prove()
		return a, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unproved = append(c.unproved, prove)
	return a, nil
}

func (c *client) get(path string) answer {
	c.t.Helper()
	return c.do(call{method: http.MethodGet, path: path})
}

// poll gets a registration, and waits if it still has the tag.
func (c *client) poll(path, tag string) answer {
	c.t.Helper()
	return c.do(call{method: http.MethodGet, path: path, header: http.Header{"If-None-Match": {tag}}})
}

// post asks for a seat. Further header lines are given as names and values.
func (c *client) post(run, name, email string, header ...string) answer {
	c.t.Helper()
	return c.do(c.asking(run, name, email, header...))
}

func (c *client) asking(run, name, email string, header ...string) call {
	body, err := json.Marshal(map[string]string{"name": name, "email": email})
	if err != nil {
		panic(err) // two strings
	}
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return call{method: http.MethodPost, path: "/v1/runs/" + run + "/registrations", header: h, body: string(body)}
}

// register asks for a seat and expects to be accepted.
func (c *client) register(run, name, email string, header ...string) registration {
	c.t.Helper()
	a := c.post(run, name, email, header...)
	a.expect(http.StatusAccepted)
	return a.registration()
}

// decided waits until the registration is decided.
func (c *client) decided(r registration) registration {
	c.t.Helper()
	a := c.get(r.Links.Self + "?wait=20")
	a.expect(http.StatusOK)
	if r = a.registration(); !r.Final {
		c.t.Errorf("after twenty seconds it is still %s", r.Status)
	}
	return r
}

// cancel gives up what the registration has.
func (c *client) cancel(r registration) answer {
	c.t.Helper()
	return c.do(call{method: http.MethodDelete, path: r.Links.Self})
}

// now returns the registration as it is.
func (c *client) now(r registration) registration {
	c.t.Helper()
	a := c.get(r.Links.Self)
	a.expect(http.StatusOK)
	return a.registration()
}

// organise sends a call with the organisers' token, and JSON if there is a body.
func (c *client) organise(method, path, body string) answer {
	c.t.Helper()
	return c.do(organising(method, path, body))
}

func organising(method, path, body string) call {
	h := http.Header{"Authorization": {bearer}}
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	return call{method: method, path: path, header: h, body: body}
}

func (c *client) run(slug string) runState {
	c.t.Helper()
	a := c.get("/v1/runs/" + slug)
	a.expect(http.StatusOK)
	var r runState
	a.decode(&r)
	return r
}
