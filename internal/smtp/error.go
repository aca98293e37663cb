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
	errEndless = errors.New("the server says too much")
	errStrange = errors.New("the server does not speak SMTP")
	errPlain   = errors.New("the server does not speak TLS on this port")
)

// codeOf returns what a failure at a step of handing over a message means for
// it. Up to the answer to MAIL, which names the sender of all mails, it is nobody's
// in particular; from there on it is this one's, or one recipient whose server is
// slow would hold up everybody's.
func codeOf(step string, err error) enroll.Code {
	reply, answered := errors.AsType[*textproto.Error](err)
	switch {
	case !answered && step == mailStep:
		return enroll.Unavailable
	case !answered:
		return enroll.MailDeferred
	// 552 is the one thing that MAIL says of a message: that it is too large (RFC
	// 1870).
	case step == mailStep && reply.Code/100 == 5 && reply.Code != 552:
		return enroll.Unavailable
	// 421 may be said to any command before the server hangs up (RFC 5321, 3.8),
	// and 530 asks for TLS or a login (RFC 3207, RFC 4954), whoever the mail is for.
	case reply.Code == 421, reply.Code == 530:
		return enroll.Unavailable
	case reply.Code/100 == 4:
		return enroll.MailDeferred
	case reply.Code/100 == 5:
		return enroll.MailRefused
	}
	return enroll.Internal
}

// accepted tells whether err is a success that is not 250. Only the first digit
// counts (RFC 5321, 4.2.1).
func accepted(err error) bool {
	reply, answered := errors.AsType[*textproto.Error](err)
	return answered && reply.Code/100 == 2
}

// sendError returns the *enroll.SendError for what went wrong at a step.
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

// tellable returns err if its text is known to hold no word of the server, which
// may quote an address or a password.
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
