package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/url"
	"strings"

	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/mail"
	"github.com/lastseat/lastseat/internal/mailqueue"
	"github.com/lastseat/lastseat/internal/smtp"
)

// newSend returns a function that sends a mail, and a function that closes the
// connections to the mail server.
func newSend(c config.Config) (send mailqueue.Send, quit func(), err error) {
	from, err := netmail.ParseAddress(c.Mail.From)
	if err != nil {
		return nil, nil, fmt.Errorf("mail.from: %w", err)
	}
	composer, err := mail.New(mail.Options{From: *from, PublicURL: c.API.PublicURL})
	if err != nil {
		return nil, nil, err
	}
	server, err := smtp.New(smtp.Options{
		Address:        c.Mail.Server,
		TLS:            c.Mail.TLS,
		Hello:          c.Mail.Hello,
		Username:       c.Mail.Username,
		Password:       string(c.Mail.Password),
		ConnectTimeout: c.Mail.ConnectTimeout,
		SendTimeout:    c.Mail.SendTimeout,
		IdleTimeout:    c.Mail.IdleTimeout,
	})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, m enroll.Mail) error {
		message, err := composer.Compose(m)
		if err != nil {
			return err
		}
		return server.Send(ctx, message)
	}, func() { _ = server.Close() }, nil
}

// warnOfMail logs a warning if mails go to another machine while the sender or
// the links in them still name this one. Sending would work, but nobody could
// reply or open a link.
func warnOfMail(c config.Config, log *slog.Logger) {
	server, _, _ := net.SplitHostPort(c.Mail.Server) // all three were validated
	if config.IsThisMachine(server) {
		return
	}
	var local []string
	if from, err := netmail.ParseAddress(c.Mail.From); err == nil && strings.HasSuffix(from.Address, "@localhost") {
		local = append(local, "mail.from")
	}
	if public, err := url.Parse(c.API.PublicURL); err == nil && config.IsThisMachine(public.Hostname()) {
		local = append(local, "api.public_url")
	}
	if local != nil {
		log.Warn("mails leave this machine, but these settings still name it", "settings", local)
	}
}
