package smtp_test

import (
	"encoding/base64"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/lastseat/lastseat/internal/testwait"
)

const (
	username = "sender"
	password = "open-sesame"
)

// delivery is a message that a server has accepted.
type delivery struct{ from, to, text string }

// answer is what a fake does at a step. The zero answer is the usual one.
type answer struct {
	say     string // sent before any of the following
	hang    bool   // send no more
	deaf    bool   // send and read no more, until the test ends
	drop    bool   // close the connection
	endless string // send this for ever
}

// fake is a mail server that can misbehave. At the end of the test it requires
// that the client has closed every connection.
type fake struct {
	t       *testing.T
	address string
	// answer is called at every step of a connection: GREETING, the verbs of
	// commands, and TEXT for the end of a message. Both numbers begin with 1.
	answer  func(connection int, step string, nth int) answer
	hanging chan struct{} // gets a value when the fake hangs

	mu          sync.Mutex
	connections []net.Conn // all connections, open or closed
	open, most  int
	said        []string // the verbs that the client has sent
	taken       []delivery
	unheard     []byte // the bytes that a deaf server did not read in time
}

func newFake(t *testing.T, answers func(connection int, step string, nth int) answer) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, address: l.Addr().String(), answer: answers, hanging: make(chan struct{}, 100)}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.connections = append(f.connections, c)
			n := len(f.connections)
			f.open++
			f.most = max(f.most, f.open)
			f.mu.Unlock()
			_ = c.(*net.TCPConn).SetReadBuffer(64 << 10) // small, so that a deaf server blocks its client soon
			served.Go(func() {
				v := &visit{fake: f, n: n, conn: c, text: textproto.NewConn(c), steps: map[string]int{}}
				v.serve()
				c.Close()
				v.leave()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		testwait.Until(t, "all connections are closed", func() bool { return f.opened() == 0 })
		served.Wait()
	})
	return f
}

// visit is one connection to a fake.
type visit struct {
	*fake
	n     int
	conn  net.Conn
	text  *textproto.Conn
	steps map[string]int
	full  *delivery // the message that the next answer accepts or refuses
	left  bool
}

// leave makes the connection no longer count as open.
func (v *visit) leave() {
	if v.left {
		return
	}
	v.left = true
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open--
}

func (v *visit) serve() {
	if _, ok := v.reply("GREETING", "220 fake at your service"); !ok {
		return
	}
	var d delivery
	for {
		line, err := v.text.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		v.note(verb)
		usual := "250 fine"
		switch verb {
		case "EHLO":
			usual = "250-fake\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH LOGIN"
		case "MAIL":
			d = delivery{from: rest}
		case "RCPT":
			d.to = rest
		case "DATA":
			usual = "354 go on"
		case "AUTH":
			usual = "334 " + base64.StdEncoding.EncodeToString([]byte("Username:"))
		case base64.StdEncoding.EncodeToString([]byte(username)):
			usual = "334 " + base64.StdEncoding.EncodeToString([]byte("Password:"))
		case base64.StdEncoding.EncodeToString([]byte(password)):
			usual = "235 welcome"
		case "QUIT":
			usual = "221 farewell"
		}
		said, ok := v.reply(verb, usual)
		if !ok {
			return
		}
		if verb == "DATA" && strings.HasPrefix(said, "354") {
			text, err := v.text.ReadDotBytes()
			if err != nil {
				return
			}
			d.text = string(text)
			v.full = &d
			if _, ok := v.reply("TEXT", "250 taken"); !ok {
				return
			}
		}
	}
}

// reply answers. It returns the answer, and whether the visit goes on.
func (v *visit) reply(step, usual string) (said string, ok bool) {
	v.steps[step]++
	var a answer
	if v.answer != nil {
		a = v.answer(v.n, step, v.steps[step])
	}
	said = a.say
	if a == (answer{}) {
		said = usual
	}
	if v.full != nil && strings.HasPrefix(said, "2") {
		v.take(*v.full)
	}
	v.full = nil
	if a.drop {
		v.leave() // before the client can notice and connect again
	}
	if said != "" {
		if err := v.text.PrintfLine("%s", said); err != nil {
			return said, false
		}
	}
	switch {
	case a.hang:
		v.hanging <- struct{}{}
		_, _ = io.Copy(io.Discard, v.conn)
	case a.deaf:
		<-v.t.Context().Done()
		unheard, _ := io.ReadAll(v.conn)
		v.mu.Lock()
		v.unheard = unheard
		v.mu.Unlock()
	case a.endless != "":
		for {
			if _, err := io.WriteString(v.conn, a.endless); err != nil {
				return said, false
			}
		}
	case !a.drop:
		return said, true
	}
	return said, false
}

func (f *fake) note(verb string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, verb)
}

func (f *fake) take(d delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = append(f.taken, d)
}

// opened returns how many connections are open.
func (f *fake) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// requireTaken requires that the server has accepted so many messages over so
// many connections.
func (f *fake) requireTaken(messages, connections int) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.taken) != messages || len(f.connections) != connections {
		f.t.Errorf("%d messages over %d connections, want %d over %d; the client said %q",
			len(f.taken), len(f.connections), messages, connections, f.said)
	}
}

// heard returns how often the client has sent the verb.
func (f *fake) heard(verb string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, said := range f.said {
		if said == verb {
			n++
		}
	}
	return n
}

// hangUp closes all connections, and returns when they are closed.
func (f *fake) hangUp() {
	f.t.Helper()
	f.mu.Lock()
	for _, c := range f.connections {
		c.Close()
	}
	f.mu.Unlock()
	testwait.Until(f.t, "all connections are closed", func() bool { return f.opened() == 0 })
}
