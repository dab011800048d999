// Package testmail is a mail server on loopback for tests: it speaks SMTP with
// STARTTLS and AUTH, and keeps what it is given.
//
// It delivers nothing and belongs into tests only.
package testmail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/slipway-cd/slipway/pkg/mail"
)

// Config says how a Server behaves. The zero value takes mail from anybody.
type Config struct {
	TLS      mail.Transport // as the server wants to be spoken to; empty: mail.Plain
	Username string         // with Password: who may send; empty: anybody
	Password string
	Ways     []string // of AUTH; none: PLAIN
	// Refuse answers a recipient with an error, such as *smtp.SMTPError.
	Refuse func(recipient string) error
}

// Received is a message that the server took.
type Received struct {
	From string
	To   []string // every recipient of the envelope
	Text string   // header and body as they came
}

// Server is a running server.
type Server struct {
	Address string         // host:port
	Roots   *x509.CertPool // of its certificate, which is for 127.0.0.1
	cfg     Config

	mu       sync.Mutex
	received []Received
	arrived  chan struct{} // one per message, as far as somebody waits
}

// Start runs a server for the test's time.
func Start(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	s := &Server{cfg: cfg, Roots: x509.NewCertPool(), arrived: make(chan struct{}, 1000)}
	s.Roots.AddCert(certificate.Certificate())
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.Address = listener.Addr().String()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	server.Domain, server.ErrorLog, server.AllowInsecureAuth = "localhost", quiet{}, cfg.TLS == "" || cfg.TLS == mail.Plain
	config := &tls.Config{Certificates: certificate.TLS.Certificates, MinVersion: tls.VersionTLS12}
	switch cfg.TLS {
	case mail.TLS:
		listener = tls.NewListener(listener, config)
	case mail.StartTLS:
		server.TLSConfig = config
	case mail.Plain:
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	tb.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // the server may not know it yet
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			tb.Errorf("the mail server: %v", err)
		}
	})
	return s
}

// Received is all that the server took, oldest first.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// Next waits for one more message, then is Received.
func (s *Server) Next(tb testing.TB) []Received {
	tb.Helper()
	select {
	case <-s.arrived:
	case <-time.After(time.Minute):
		tb.Fatal("no mail came within a minute")
	}
	return s.Received()
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// session is one connection.
type session struct {
	server *Server
	known  bool // who speaks has proved who he is
	now    Received
}

func (s *session) Reset()        { s.now = Received{} }
func (s *session) Logout() error { return nil }

func (s *session) AuthMechanisms() []string {
	if s.server.cfg.Username == "" {
		return nil
	}
	if s.server.cfg.Ways != nil {
		return s.server.cfg.Ways
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(way string) (sasl.Server, error) {
	check := func(username, password string) error {
		if username != s.server.cfg.Username || password != s.server.cfg.Password {
			return smtp.ErrAuthFailed
		}
		s.known = true
		return nil
	}
	if way == sasl.Login {
		return &login{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, username, password string) error { return check(username, password) }), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.cfg.Username != "" && !s.known {
		return smtp.ErrAuthRequired
	}
	s.now.From = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.cfg.Refuse != nil {
		if err := s.server.cfg.Refuse(to); err != nil {
			return err
		}
	}
	s.now.To = append(s.now.To, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.now.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.received = append(s.server.received, s.now)
	select {
	case s.server.arrived <- struct{}{}:
	default:
	}
	return nil
}

// login is the server's side of AUTH LOGIN.
type login struct {
	check    func(username, password string) error
	username string
	step     int
}

// Next asks for the name, then for the password (sasl.Server).
func (l *login) Next(response []byte) ([]byte, bool, error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.username = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.username, string(response))
}
