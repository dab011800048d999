package door_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/wire/door"
)

// authority is Pebble, the small sister of Let's Encrypt's own server, which
// validates what it is asked for at a port of this machine.
type authority struct {
	directory string
	client    *http.Client // trusts it
	roots     *x509.CertPool
	orders    atomic.Int64
}

func newAuthority(t *testing.T, port int) *authority {
	t.Helper()
	quiet := log.New(testWriter{t}, "", 0)
	memory := db.NewMemoryStore()
	issuer := ca.New(quiet, memory, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "the only one"}})
	front := wfe.New(quiet, memory, va.New(quiet, 1, port, false, nameServer(t), memory), issuer, []string{"pebble.test"}, true, false, 0, 0)
	a := &authority{roots: x509.NewCertPool()}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &watched{ResponseWriter: w}
		front.Handler().ServeHTTP(answer, r)
		// Pebble refuses one nonce in twenty, and is then asked again: what
		// counts is what it took.
		if r.URL.Path == "/order-plz" && answer.status == http.StatusCreated {
			a.orders.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	a.directory, a.client = s.URL+wfe.DirectoryPath, s.Client()
	a.roots.AddCert(issuer.GetRootCert(0).Cert)
	return a
}

// watched keeps the status of an answer.
type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// testWriter shows what Pebble says where a test fails, until it ends.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Logf("pebble: %s", bytes.TrimSpace(p))
	}
	return len(p), nil
}

// nameServer says of each name that it is this machine.
func nameServer(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, asked *dns.Msg) {
		answer := new(dns.Msg).SetReply(asked)
		if q := asked.Question[0]; q.Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(answer)
	})}
	t.Cleanup(func() { _ = s.Shutdown() })
	go func() { _ = s.ActivateAndServe() }()
	return l.Addr().String()
}

// serves speaks TLS on a listener and answers each request.
func serves(t *testing.T, l net.Listener, config *tls.Config) {
	t.Helper()
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }), ErrorLog: log.New(testWriter{t}, "", 0)}
	t.Cleanup(func() { _ = s.Close() })
	go func() { _ = s.Serve(tls.NewListener(l, config)) }()
}

// A server gets a certificate from a real authority over its own port, keeps
// it, and gets none for names that it isn't known by.
func TestACertificateIsGotByACME(t *testing.T) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1") // else it waits up to 5 seconds before it looks
	const host = "slipway.example.com"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := newAuthority(t, l.Addr().(*net.TCPAddr).Port)
	acme := door.ACME{Host: host, Email: "ops@example.com", Directory: at.directory, Cache: filepath.Join(t.TempDir(), "acme"), Client: at.client}
	var logged lockedBuffer
	config := acme.Config(slog.New(slog.NewTextHandler(&logged, nil)))
	serves(t, l, config)

	shake := func(l net.Listener, name string) (*x509.Certificate, error) {
		d := tls.Dialer{Config: &tls.Config{RootCAs: at.roots, ServerName: name, NextProtos: []string{"http/1.1"}}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
	var all sync.WaitGroup
	for range 5 { // who comes at the same time waits for the same one
		all.Go(func() {
			if _, err := shake(l, host); err != nil {
				t.Errorf("no certificate that the authority's clients trust: %v", err)
			}
		})
	}
	all.Wait()
	first, err := shake(l, host)
	if err != nil {
		t.Fatal(err)
	}
	if got := at.orders.Load(); got != 1 {
		t.Errorf("%d certificates were asked for, want 1", got)
	}
	for _, name := range []string{"other.example.com", "localhost"} {
		if _, err := shake(l, name); err == nil {
			t.Errorf("there is a certificate for %s", name)
		}
	}
	if got := at.orders.Load(); got != 1 {
		t.Errorf("after strangers' names %d certificates were asked for, want 1", got)
	}
	if logged.String() != "" {
		t.Errorf("the log tells of strangers' names: %s", logged.String())
	}

	// The next process has it without asking, and nobody else may read it.
	next, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, next, acme.Config(slog.New(slog.DiscardHandler)))
	second, err := shake(next, host)
	if err != nil || !second.Equal(first) || at.orders.Load() != 1 {
		t.Errorf("after a restart: %v, the same certificate %v, %d orders", err, second.Equal(first), at.orders.Load())
	}
	files, err := os.ReadDir(acme.Cache)
	if err != nil || len(files) == 0 {
		t.Fatalf("the cache has %d files: %v", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v: %v; want it for its owner alone", f.Name(), info.Mode(), err)
		}
	}
}

// An authority that can't be reached ends handshakes; the log says why, once.
func TestAnAuthorityThatCantBeReachedIsToldOf(t *testing.T) {
	t.Parallel()
	gone := httptest.NewTLSServer(http.NotFoundHandler())
	gone.Close()
	var logged lockedBuffer
	config := door.ACME{Host: "slipway.example.com", Directory: gone.URL, Cache: t.TempDir()}.Config(slog.New(slog.NewTextHandler(&logged, nil)))
	for range 2 {
		hello := &tls.ClientHelloInfo{ServerName: "slipway.example.com", SupportedVersions: []uint16{tls.VersionTLS13}}
		if _, err := config.GetCertificate(hello); err == nil {
			t.Error("there is a certificate, want an error")
		}
	}
	if got := bytes.Count([]byte(logged.String()), []byte("there is no certificate")); got != 1 {
		t.Errorf("told %d times, want once:\n%s", got, logged.String())
	}
}

func TestACMEIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		acme door.ACME
		ok   bool
	}{
		{door.ACME{Host: "slipway.example.com"}, true},
		{door.ACME{Host: "slipway.example.com", Email: "ops@example.com", Directory: "https://ca.example.com/acme/directory"}, true},
		{door.ACME{Host: "localhost"}, false},
		{door.ACME{Host: "10.0.0.5"}, false},
		{door.ACME{Host: "*.example.com"}, false},
		{door.ACME{Host: "https://slipway.example.com"}, false},
		{door.ACME{Host: "slipway.example.com:443"}, false},
		{door.ACME{Host: "slipway.example.com", Email: "ops"}, false},
		{door.ACME{Host: "slipway.example.com", Directory: "http://ca.example.com/directory"}, false},
		{door.ACME{Host: "slipway.example.com", Directory: "ca.example.com"}, false},
	} {
		if err := c.acme.Check(); (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v; want it taken: %v", c.acme, err, c.ok)
		}
	}
}

// lockedBuffer is a log that several write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
