package smtp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// server is an honest mail server. Its library is not the client's.
type server struct {
	address string
	roots   *x509.CertPool // which trusts its certificate

	mu     sync.Mutex
	taken  []delivery
	logins int
	secure bool // whether the last message came encrypted
	utf8   bool // whether a sender asked for SMTPUTF8
}

// newServer starts a server that uses TLS as the option says, with a
// certificate for the name.
func newServer(t *testing.T, encryption, name string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: l.Addr().String()}
	certificate, roots := newCertificate(t, name)
	s.roots = roots
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	serving := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &serverSession{server: s, conn: c}, nil
	}))
	serving.Domain = "honest"
	serving.EnableSMTPUTF8 = true
	serving.AllowInsecureAuth = true
	serving.ErrorLog = silent{}
	switch encryption {
	case "starttls":
		serving.TLSConfig = config
	case "implicit":
		l = tls.NewListener(l, config)
	}
	var served sync.WaitGroup
	served.Go(func() { _ = serving.Serve(l) })
	t.Cleanup(func() {
		serving.Close()
		served.Wait()
	})
	return s
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

type serverSession struct {
	*server
	conn *smtp.Conn
	d    delivery
}

func (s *serverSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *serverSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, secret string) error {
		if user != username || secret != password {
			return smtp.ErrAuthFailed
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.logins++
		return nil
	}), nil
}

func (s *serverSession) Mail(from string, o *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.utf8 = s.utf8 || o.UTF8
	s.d = delivery{from: from}
	return nil
}

func (s *serverSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.d.to = to
	return nil
}

func (s *serverSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.d.text = string(text)
	_, secure := s.conn.TLSConnectionState()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secure = secure
	s.taken = append(s.taken, s.d)
	return nil
}

func (s *serverSession) Reset()        {}
func (s *serverSession) Logout() error { return nil }

// newCertificate returns a self-signed certificate and a pool that trusts it.
func newCertificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
