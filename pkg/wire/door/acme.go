package door

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// ACME says for which name a server gets a certificate by itself, and from
// whom (RFC 8555).
type ACME struct {
	Host string // by which others reach the server; the authority connects to its port 443
	// Email is told by the authority when something is wrong; empty: nobody is.
	Email string
	// Directory is the authority's address; empty: Let's Encrypt's.
	Directory string
	// Cache is the folder of the account's key and of the certificate with its
	// own. It is made if it isn't there, for its owner alone.
	Cache string
	// Client asks the authority, and tells it nothing that is stored here; nil: as net/http does.
	Client *http.Client
}

// hostName is what an authority gives certificates for by the challenge that is
// answered here: a name with a dot, without a wildcard.
var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Check says what of it can't be right.
func (a ACME) Check() error {
	if !hostName.MatchString(a.Host) || len(a.Host) > 253 || net.ParseIP(a.Host) != nil {
		return fault.New(fault.Invalid, "the host of ACME is %q; want the name by which others reach this server, such as slipway.example.com", a.Host)
	}
	if a.Email != "" && !strings.Contains(a.Email, "@") {
		return fault.New(fault.Invalid, "the address for ACME's messages is %q; want one such as ops@example.com", a.Email)
	}
	if a.Directory == "" {
		return nil
	}
	if u, err := url.Parse(a.Directory); err != nil || u.Scheme != "https" || u.Host == "" {
		return fault.New(fault.Invalid, "the directory of ACME is %q; want an address such as https://ca.example.com/acme/directory", a.Directory)
	}
	return nil
}

// Config is for servers, HTTP/1.1 as with a Certificate. The certificate is
// asked for at the first handshake, which waits for it, kept in the cache, and
// renewed in time while the server runs. The authority's challenge is answered
// in a handshake too (tls-alpn-01, RFC 8737), so that no second port is needed.
func (a ACME) Config(log *slog.Logger) *tls.Config {
	manager := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(a.Cache), HostPolicy: autocert.HostWhitelist(a.Host), Email: a.Email,
		Client: &acme.Client{DirectoryURL: a.directory(), HTTPClient: a.Client, UserAgent: "slipway"},
	}
	told := teller{log: log}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1", acme.ALPNProto},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := manager.GetCertificate(hello)
			if err != nil && strings.EqualFold(strings.TrimSuffix(hello.ServerName, "."), a.Host) { // other names are whoever scans
				told.tell(hello.Context(), err)
			}
			return cert, err
		},
	}
}

func (a ACME) directory() string {
	if a.Directory == "" {
		return autocert.DefaultACMEDirectory
	}
	return a.Directory
}

// teller tells of what goes on going wrong once a minute.
type teller struct {
	log *slog.Logger
	mu  sync.Mutex
	at  time.Time
}

func (t *teller) tell(ctx context.Context, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.at) >= toldEvery {
		t.at = now
		t.log.WarnContext(ctx, "there is no certificate", "error", err)
	}
}
