package mail_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testmail"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
)

func message(to ...string) mail.Message {
	return mail.Message{
		ID: "abc", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), To: to,
		Subject: "Grüße\r\nBcc: eve@example.com", HTML: true, Body: "<p>größer = besser</p>\n.\n",
	}
}

// at is a server's address as a setting gives it.
func at(t *testing.T, s *testmail.Server, how mail.Transport) mail.Server {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return mail.Server{Host: host, Port: n, TLS: how, From: "Slipway <slipway@example.com>"}
}

func TestSendWritesAMessage(t *testing.T) {
	t.Parallel()
	s := testmail.Start(t, testmail.Config{})
	m := message("Ann Öz <ann@example.com>", "bob@example.com")
	m.CC = []string{"eve@example.com"}
	if err := (mail.Sender{}).Send(t.Context(), at(t, s, mail.Plain), m); err != nil {
		t.Fatal(err)
	}
	want := []testmail.Received{{
		From: "slipway@example.com", To: []string{"ann@example.com", "bob@example.com", "eve@example.com"},
		Text: `Date: Fri, 02 Jan 2026 03:04:05 +0000
From: "Slipway" <slipway@example.com>
To: =?utf-8?q?Ann_=C3=96z?= <ann@example.com>,
 <bob@example.com>
Cc: <eve@example.com>
Message-ID: <abc@example.com>
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe_Bcc:_eve@example.com?=
Auto-Submitted: auto-generated
MIME-Version: 1.0
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<p>gr=C3=B6=C3=9Fer =3D besser</p>
.
`,
	}}
	if diff := cmp.Diff(want, s.Received()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

func TestSendProvesWhoSends(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		tls      mail.Transport
		ways     []string
		password string
		want     []fault.FailureType
	}{
		{"STARTTLS and PLAIN", mail.StartTLS, nil, "pass", nil},
		{"STARTTLS and LOGIN", mail.StartTLS, []string{"LOGIN"}, "pass", nil},
		{"TLS and PLAIN", mail.TLS, nil, "pass", nil},
		{"a wrong password", mail.StartTLS, nil, "guess", []fault.FailureType{fault.Authentication}},
		{"a wrong password and LOGIN", mail.TLS, []string{"LOGIN"}, "guess", []fault.FailureType{fault.Authentication}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := testmail.Start(t, testmail.Config{TLS: c.tls, Username: "ann", Password: "pass", Ways: c.ways})
			server := at(t, s, c.tls)
			server.Username, server.Password = "ann", c.password
			err := mail.Sender{Roots: s.Roots}.Send(t.Context(), server, message("bob@example.com"))
			if c.want == nil {
				if err != nil || len(s.Received()) != 1 {
					t.Fatalf("%v; received %v", err, s.Received())
				}
				return
			}
			if err == nil || strings.Contains(err.Error(), c.password) || mail.Temporary(err) {
				t.Errorf("got %v; want a refusal for good that doesn't show the password", err)
			}
			if diff := cmp.Diff(c.want, fault.Failures(err)); diff != "" {
				t.Errorf("failure types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendRefusals(t *testing.T) {
	t.Parallel()
	refuse := func(code int) func(string) error {
		return func(string) error { return &smtp.SMTPError{Code: code, Message: "not here"} }
	}
	for _, c := range []struct {
		name      string
		cfg       testmail.Config
		tls       mail.Transport
		to        string
		temporary bool
		message   string
	}{
		{"nobody of the name", testmail.Config{Refuse: refuse(550)}, mail.Plain, "bob@example.com", false, "refuses the recipient bob@example.com: 550"},
		{"busy", testmail.Config{Refuse: refuse(451)}, mail.Plain, "bob@example.com", true, "451"},
		{"no STARTTLS", testmail.Config{}, mail.StartTLS, "bob@example.com", false, "offers no STARTTLS"},
		{"a certificate of nobody's", testmail.Config{TLS: mail.StartTLS}, mail.StartTLS, "bob@example.com", true, "certificate"},
		{"not an address", testmail.Config{}, mail.Plain, "bob", false, `"bob" isn't an e-mail address`},
		{"two lines", testmail.Config{}, mail.Plain, "bob@example.com\r\nRSET", false, "isn't an e-mail address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := testmail.Start(t, c.cfg)
			err := mail.Sender{}.Send(t.Context(), at(t, s, c.tls), message(c.to))
			if err == nil || !strings.Contains(err.Error(), c.message) || mail.Temporary(err) != c.temporary {
				t.Errorf("got %v, temporary %v; want %q, %v", err, mail.Temporary(err), c.message, c.temporary)
			}
			if len(s.Received()) != 0 {
				t.Error("a message was taken")
			}
		})
	}
}

// A server that accepts and says nothing is left when ctx ends.
func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			defer conn.Close()
			cancel()
			<-t.Context().Done()
		}
	}()
	err = mail.Sender{}.Send(ctx, at(t, &testmail.Server{Address: listener.Addr().String()}, mail.Plain), message("bob@example.com"))
	if !mail.Temporary(err) {
		t.Errorf("got %v; want that the server can't be reached", err)
	}
}

func TestSetting(t *testing.T) {
	t.Parallel()
	const from = "Slipway <slipway@example.com>"
	for _, c := range []struct {
		name    string
		setting mail.Setting
		want    *mail.Server
		message string
	}{
		{"none", mail.Setting{}, nil, ""},
		{"STARTTLS", mail.Setting{URL: "smtp://ann@mail.example.com", From: from, Password: "account.smtp"}, &mail.Server{
			Host: "mail.example.com", Port: 587, TLS: mail.StartTLS, From: from, Username: "ann", Password: "account.smtp",
		}, ""},
		{"TLS and a name with @", mail.Setting{URL: "smtps://ann%40example.com@mail.example.com:4465", From: from, Password: "account.smtp"}, &mail.Server{
			Host: "mail.example.com", Port: 4465, TLS: mail.TLS, From: from, Username: "ann@example.com", Password: "account.smtp",
		}, ""},
		{"a relay", mail.Setting{URL: "smtp+plain://127.0.0.1", From: from}, &mail.Server{Host: "127.0.0.1", Port: 25, TLS: mail.Plain, From: from}, ""},
		{"no URL", mail.Setting{From: from}, nil, "no URL"},
		{"another protocol", mail.Setting{URL: "https://mail.example.com", From: from}, nil, `begins with "https"`},
		{"no host", mail.Setting{URL: "mail.example.com", From: from}, nil, "can't be read"},
		{"no sender", mail.Setting{URL: "smtp://mail.example.com"}, nil, `sender of mail is ""`},
		{"a password in the open", mail.Setting{URL: "smtp://ann:pass@mail.example.com", From: from}, nil, "password in it"},
		{"a user without a password", mail.Setting{URL: "smtp://ann@mail.example.com", From: from}, nil, "or neither"},
		{"a password without TLS", mail.Setting{URL: "smtp+plain://ann@mail.example.com", From: from, Password: "account.smtp"}, nil, "smtp+plain"},
		{"a project's secret", mail.Setting{URL: "smtp://ann@mail.example.com", From: from, Password: "smtp"}, nil, "account.smtp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.setting.Server()
			switch {
			case c.message == "" && err != nil:
				t.Fatal(err)
			case c.message != "":
				if err == nil || !strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "pass@") {
					t.Errorf("got %v; want %q", err, c.message)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
}
