package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"

	"github.com/wneessen/go-mail/smtp"

	"github.com/lastseat/lastseat/internal/enroll"
)

var (
	errNoTLS   = errors.New("the server does not offer STARTTLS")
	errNoLogin = errors.New("the server offers neither PLAIN nor LOGIN")
	errEndless = errors.New("the server sends too much")
	errStrange = errors.New("the server does not speak SMTP")
	errPlain   = errors.New("the server does not speak TLS on this port")
)

// codeOf returns what a failure at a step of the transfer means for the mail.
// Up to the answer to MAIL, which names the sender of all mails, the failure is
// the server's. From then on it is this mail's: otherwise one recipient with a
// slow server would hold up all mails.
func codeOf(step string, err error) enroll.Code {
	reply, answered := errors.AsType[*textproto.Error](err)
	switch {
	case !answered && step == mailStep:
		return enroll.Unavailable
	case !answered:
		return enroll.MailDeferred
	// 552 is the only answer to MAIL that is about the message: it is too large
	// (RFC 1870).
	case step == mailStep && reply.Code/100 == 5 && reply.Code != 552:
		return enroll.Unavailable
	// 421 may answer any command before the server hangs up (RFC 5321, 3.8),
	// and 530 demands TLS or a login (RFC 3207, RFC 4954). Neither depends on
	// the recipient.
	case reply.Code == 421, reply.Code == 530:
		return enroll.Unavailable
	case reply.Code/100 == 4:
		return enroll.MailDeferred
	case reply.Code/100 == 5:
		return enroll.MailRefused
	}
	return enroll.Internal
}

// accepted tells whether err is a success other than 250. Only the first digit
// counts (RFC 5321, 4.2.1).
func accepted(err error) bool {
	reply, answered := errors.AsType[*textproto.Error](err)
	return answered && reply.Code/100 == 2
}

// sendError returns the *enroll.SendError for a failure at a step.
func sendError(ctx context.Context, code enroll.Code, step string, err error) error {
	if reply, answered := errors.AsType[*textproto.Error](err); answered {
		return &enroll.SendError{Code: code, Status: reply.Code, Reply: reply.Msg, Err: errors.New(step)}
	}
	err = tellable(err)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &enroll.SendError{Code: code, Unanswered: step == textStep, Err: fmt.Errorf("%s: %w", step, err)}
}

// tellable returns err if its text is known to hold none of the server's words,
// which may quote an address or a password. Otherwise it returns an error with
// a general text.
func tellable(err error) error {
	for _, known := range []error{errNoTLS, errNoLogin, errEndless, smtp.ErrUnencrypted, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return errPlain
	}
	if network, ok := errors.AsType[net.Error](err); ok {
		return network
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return certificate
	}
	return errStrange
}
