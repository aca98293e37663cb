package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/lastseat/lastseat/internal/config"
)

func TestWarnOfMail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, server, from, public string
		want                       string // empty = no warning
	}{
		{"the defaults", "127.0.0.1:1025", "Lastseat <lastseat@localhost>", "http://127.0.0.1:8080", ""},
		{"a server here by name", "localhost:25", "Lastseat <lastseat@localhost>", "http://localhost", ""},
		{"all is set", "mail.example.org:587", "seats@example.org", "https://seats.example.org", ""},
		{"nothing but the server is set", "mail.example.org:587", "Lastseat <lastseat@localhost>", "http://127.0.0.1:8080", `settings="[mail.from api.public_url]"`},
		{"the sender is not set", "10.0.0.1:25", "lastseat@localhost", "https://seats.example.org", "settings=[mail.from]"},
		{"links lead here", "[2001:db8::1]:25", "seats@example.org", "http://[::1]:8080/app", "settings=[api.public_url]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config.Default()
			c.Mail.Server, c.Mail.From, c.API.PublicURL = test.server, test.from, test.public
			var said bytes.Buffer
			warnOfMail(c, slog.New(slog.NewTextHandler(&said, nil)))
			if test.want == "" {
				if said.Len() > 0 {
					t.Errorf("it says %s", said.String())
				}
			} else if strings.Count(said.String(), "level=WARN") != 1 || !strings.Contains(said.String(), test.want) {
				t.Errorf("it says %s, want %s", said.String(), test.want)
			}
		})
	}
}
