// Package mail gives messages to a mail server by SMTP: the sender of Email
// steps and of notifications.
//
// It sends one message over one connection and waits for the server's word
// that it takes it. Whether the mail arrives, whom to tell and when to try
// again are for others to say.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/smtp"
	"net/textproto"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Sender sends messages. The zero value is ready.
type Sender struct {
	Roots *x509.CertPool // whom servers' certificates must come from; nil: the system's
}

// patience bounds a whole conversation for callers whose ctx has no deadline.
const patience = time.Minute

// Send gives a message to a server. Its error has the failure types of the
// cause; Temporary says whether trying again may help.
func (s Sender) Send(ctx context.Context, server Server, m Message) error {
	to, err := m.check(server)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := s.dial(ctx, server)
	if err != nil {
		return unreachable(server, err)
	}
	defer conn.Close()
	// net/smtp knows no context: a connection that is closed ends what it waits for.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := s.converse(conn, server, m, to); err != nil {
		if ctx.Err() != nil {
			return unreachable(server, context.Cause(ctx))
		}
		return err
	}
	return nil
}

func (s Sender) dial(ctx context.Context, server Server) (net.Conn, error) {
	addr := net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	if server.TLS == TLS {
		return (&tls.Dialer{Config: s.tls(server)}).DialContext(ctx, "tcp", addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

func (s Sender) tls(server Server) *tls.Config {
	return &tls.Config{ServerName: server.Host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
}

// converse speaks SMTP (RFC 5321).
func (s Sender) converse(conn net.Conn, server Server, m Message, to []string) error {
	c, err := smtp.NewClient(conn, server.Host)
	if err != nil {
		return unreachable(server, err)
	}
	defer c.Close()
	if server.TLS == StartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return fault.New(fault.Invalid, "the mail server %s offers no STARTTLS; use smtps:// or smtp+plain://", server.Host)
		}
		if err := c.StartTLS(s.tls(server)); err != nil {
			return unreachable(server, err)
		}
	}
	if server.Username != "" {
		if err := login(c, server); err != nil {
			return err
		}
	}
	if err := c.Mail(bare(server.From)); err != nil {
		return refused(server, "the sender "+server.From, err)
	}
	for _, address := range to {
		if err := c.Rcpt(address); err != nil {
			return refused(server, "the recipient "+address, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return refused(server, "the message", err)
	}
	if _, err := w.Write(m.compose(server.From)); err != nil {
		return unreachable(server, err)
	}
	if err := w.Close(); err != nil {
		return refused(server, "the message", err)
	}
	_ = c.Quit() // the message is taken by now
	return nil
}

// Temporary says whether what Send couldn't do may work later.
func Temporary(err error) bool { return fault.Is(err, fault.Unavailable) }

// refused is the error of something that a server doesn't take. What it says
// with 4yz may change by itself (RFC 5321 §4.2.1).
func refused(server Server, what string, err error) *fault.Error {
	var said *textproto.Error
	if !errors.As(err, &said) {
		return unreachable(server, err)
	}
	code := fault.Invalid
	if said.Code < 500 {
		code = fault.Unavailable
	}
	return fault.New(code, "the mail server %s refuses %s: %d %s", server.Host, what, said.Code, oneLine(said.Msg))
}

func unreachable(server Server, err error) *fault.Error {
	e := fault.New(fault.Unavailable, "the mail server %s can't be reached: %w", net.JoinHostPort(server.Host, strconv.Itoa(server.Port)), err)
	e.Failures = []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}
	if v := (*tls.CertificateVerificationError)(nil); errors.As(err, &v) {
		e.Failures = []fault.FailureType{fault.Connectivity}
	}
	return e
}

// login proves who sends. Some servers know the older LOGIN only.
func login(c *smtp.Client, server Server) error {
	ok, ways := c.Extension("AUTH")
	if !ok {
		return fault.New(fault.Invalid, "the mail server %s asks for no user; leave the user out of its address", server.Host)
	}
	auth := smtp.PlainAuth("", server.Username, server.Password, server.Host)
	if !offers(ways, "PLAIN") && offers(ways, "LOGIN") {
		auth = &loginAuth{username: server.Username, password: server.Password}
	}
	if err := c.Auth(auth); err != nil {
		e := refused(server, "the user "+server.Username, err)
		if e.Code == fault.Invalid {
			e.Failures = []fault.FailureType{fault.Authentication}
		}
		return e
	}
	return nil
}
