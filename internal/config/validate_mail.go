package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

func (l *loader) validateMail(m Mail) {
	l.check("mail.server", hostAndPort(m.Server))
	l.check("mail.hello", hello(m.Hello))
	l.check("mail.username", together(m.Username, "mail.password", string(m.Password)))
	l.check("mail.password", together(string(m.Password), "mail.username", m.Username))
	l.check("mail.tls", oneOf(m.TLS, "none", "starttls", "implicit"))
	l.check("mail.tls", protectsPassword(m))
	l.check("mail.from", sender(m.From))
	l.check("mail.retry_max", notLess(m.RetryMax, "mail.retry_min", m.RetryMin))
}

// hostAndPort checks an address to connect to, which needs a host and a port.
func hostAndPort(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("must be host:port, not %.60q", address)
	}
	// Names of containers may have underscores; names of hosts may not.
	if _, err := netip.ParseAddr(host); err != nil && !isHostName(strings.ReplaceAll(host, "_", "x")) {
		return fmt.Errorf("must be host:port with the name or the IP address of a host, not %.60q", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("must have a port of 1..65535, not %.60q", address)
	}
	return nil
}

var hostName = regexp.MustCompile(`^(?i:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.|$))+$`)

// isHostName tells whether a name can be a host's (RFC 1123, 2.1).
func isHostName(name string) bool { return len(name) <= 253 && hostName.MatchString(name) }

func hello(name string) error {
	if name != "" && !isHostName(name) {
		return fmt.Errorf("must be the name of a host, of at most 253 letters, digits, hyphens and dots, not %.60q", name)
	}
	return nil
}

// together reports a value that is missing although the other is given, which
// is useless alone. The error must quote neither.
func together(value, otherKey, other string) error {
	if value == "" && other != "" {
		return fmt.Errorf("is missing although %s is given", otherKey)
	}
	return nil
}

// protectsPassword reports a password that would cross a network without TLS.
func protectsPassword(m Mail) error {
	host, _, _ := net.SplitHostPort(m.Server) // hostAndPort reports an invalid address
	if m.TLS != "none" || m.Username == "" || IsThisMachine(host) {
		return nil
	}
	return errors.New("must not be none when mail.username logs in to another machine")
}

// IsThisMachine tells whether a host name or an IP address always means this
// machine. It knows the same three as the SMTP client, which sends a password
// without TLS to no others.
func IsThisMachine(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// sender checks the sender of the mails.
func sender(from string) error {
	a, err := mail.ParseAddress(from)
	if err != nil {
		return fmt.Errorf("must be an address such as \"Lastseat <seats@example.org>\", not %.60q", from)
	}
	if again, err := mail.ParseAddress(a.Address); err != nil || again.Address != a.Address {
		return errors.New("must have an address without quotes or blanks")
	}
	if strings.ContainsFunc(a.Address, func(r rune) bool { return r > unicode.MaxASCII }) {
		return errors.New("must have an address of ASCII letters: write an internationalised domain as xn--…")
	}
	return nil
}
