package mail

import (
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Setting is how an installation says which mail server it has. The zero
// value says that it has none.
type Setting struct {
	// URL is smtp://[user@]host[:587], which must become TLS before anything is
	// said, smtps://[user@]host[:465] or smtp+plain://host[:25].
	URL string
	// From is the sender, e.g. "Slipway <slipway@example.com>".
	From string
	// Password refers to the secret that is the user's password, e.g.
	// "account.smtp". The secret's value never is in a setting.
	Password string
}

// Server reads a setting; nil if there is none. The server's password is the
// reference to the secret.
func (s Setting) Server() (*Server, error) {
	if s.URL == "" {
		if s.From != "" || s.Password != "" {
			return nil, fault.New(fault.Invalid, "the mail server has a sender or a password, but no URL")
		}
		return nil, nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" || u.Path != "" {
		return nil, fault.New(fault.Invalid, "the mail server's URL can't be read; want one such as smtp://user@mail.example.com:587")
	}
	server := &Server{Host: u.Hostname(), From: s.From, Username: u.User.Username(), Password: s.Password}
	switch u.Scheme {
	case "smtp":
		server.TLS, server.Port = StartTLS, 587
	case "smtps":
		server.TLS, server.Port = TLS, 465
	case "smtp+plain":
		server.TLS, server.Port = Plain, 25
	default:
		return nil, fault.New(fault.Invalid, "the mail server's URL begins with %q; want smtp://, smtps:// or smtp+plain://", u.Scheme)
	}
	if p := u.Port(); p != "" {
		if server.Port, err = strconv.Atoi(p); err != nil {
			return nil, fault.New(fault.Invalid, "the mail server's port %q isn't a number", p)
		}
	}
	return server, s.check(u, server)
}

func (s Setting) check(u *url.URL, server *Server) error {
	if _, err := mail.ParseAddress(s.From); err != nil {
		return fault.New(fault.Invalid, "the sender of mail is %q; want an address such as slipway@example.com", s.From)
	}
	if _, has := u.User.Password(); has {
		return fault.New(fault.Invalid, "the mail server's URL has a password in it; save it as a secret and refer to that")
	}
	if (server.Username == "") != (s.Password == "") {
		return fault.New(fault.Invalid, "the mail server needs both a user, in its URL, and a secret with the password, or neither")
	}
	if s.Password == "" {
		return nil
	}
	if server.TLS == Plain {
		return fault.New(fault.Invalid, "a password isn't sent over smtp+plain://; use smtp:// or smtps://")
	}
	if _, err := ref.Parse(s.Password, ref.Scope{}); err != nil || !strings.HasPrefix(s.Password, "account.") {
		return fault.New(fault.Invalid, "the mail server's password is %q; want a secret of the account, such as account.smtp", s.Password)
	}
	return nil
}
