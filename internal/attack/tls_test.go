package attack_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// certificate makes a certificate for this machine, and gives its files and
// who trusts it.
func certificate(t *testing.T) (certFile, keyFile string, trust *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir, pool := t.TempDir(), x509.NewCertPool()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(cert)
	for file, doc := range map[string][]byte{certFile: cert, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(file, doc, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// serve runs a server in this process until the test ends.
func serve(t *testing.T, cfg wire.ServeConfig) wire.Info {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, done := make(chan wire.Info, 1), make(chan error, 1)
	cfg.Data, cfg.Log, cfg.Ready = t.TempDir(), slog.New(slog.DiscardHandler), func(i wire.Info) { ready <- i }
	go func() { done <- wire.Serve(ctx, cfg) }()
	select {
	case info := <-ready:
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		return info
	case err := <-done:
		cancel()
		t.Fatal(err)
		return wire.Info{}
	}
}

const echo = `pipeline:
  {name: echo, identifier: echo, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: [
  {step: {name: e, identifier: e, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: echo hello}}}}}]}}}}]}
`

// Over TLS all goes as without: requests, streams of events, and a delegate's
// WebSocket. Who doesn't trust the certificate doesn't send a token.
func TestEverythingGoesOverTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trust := certificate(t)
	info := serve(t, wire.ServeConfig{Addr: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile})
	if !strings.HasPrefix(info.URL, "https://") {
		t.Fatalf("the server's address is %s", info.URL)
	}
	if _, err := apiclient.New(info.URL, info.Token).About(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("who doesn't trust the certificate: %v", err)
	}
	c := apiclient.New(info.URL, info.Token).Checking(trust)
	made, err := c.CreateToken(t.Context(), ref.Scope{}, api.CreateToken{Kind: store.TokenDelegate, Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	ended := make(chan error, 1)
	go func() {
		ended <- agent.New(agent.Config{
			URL: info.URL, Token: made.Secret, Name: "d", TLS: trust, Kinds: delegate.Kinds(delegate.Config{Cache: t.TempDir()}), Log: slog.New(slog.DiscardHandler),
		}).Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	scope := ref.Scope{Org: "default", Project: "web"}
	if _, err := c.Save(ctx, apiclient.Document{Scope: scope, YAML: []byte(echo)}); err != nil {
		t.Fatal(err)
	}
	e, err := c.Start(ctx, scope, "echo", api.StartExecution{})
	if err != nil {
		t.Fatal(err)
	}
	var last api.ExecutionTree
	if err := c.Watch(ctx, e.ID, func(t api.ExecutionTree) { last = t }); err != nil || last.Status != plan.Success {
		t.Errorf("the execution is %s, %v", last.Status, err)
	}
}

func TestPlainHTTPStaysOnTheMachine(t *testing.T) {
	t.Parallel()
	certFile, _, _ := certificate(t)
	for name, cfg := range map[string]wire.ServeConfig{
		"everywhere": {Addr: "0.0.0.0:0"}, "everywhere, by default": {Addr: ":0"}, "a certificate without a key": {Addr: "127.0.0.1:0", TLSCert: certFile},
		"a file that isn't there": {Addr: "127.0.0.1:0", TLSCert: certFile, TLSKey: "none"},
	} {
		cfg.Data, cfg.Log = t.TempDir(), slog.New(slog.DiscardHandler)
		if err := wire.Serve(t.Context(), cfg); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want INVALID", name, err)
		}
	}
	serve(t, wire.ServeConfig{Addr: "0.0.0.0:0", Insecure: true})
	serve(t, wire.ServeConfig{Addr: "localhost:0"})
}
