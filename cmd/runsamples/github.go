package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-cd/slipway/internal/gitserver"
)

// The one place that the samples' connectors lead to.
const (
	gitHost = "github.com"
	gitUser = "harness-community"
	gitRepo = "harnesscd-example-apps"
)

// standIn is a proxy on loopback that answers for gitHost alone. Git is sent
// to it as it would be to a company's proxy, by https_proxy and the proxy's
// certificate: no URL is changed, and the product knows nothing of it.
type standIn struct {
	proxy  *http.Server
	secure *tls.Config
	git    *http.Server
	conns  chan net.Conn
}

// serveGit serves a checkout as the repository that the samples name, and
// points this process's git at it.
func serveGit(ctx context.Context, dir, checkout string) (stop func() error, err error) {
	root := filepath.Join(dir, "git")
	if err := gitserver.Repository(ctx, filepath.Join(root, gitUser, gitRepo), checkout, "master"); err != nil {
		return nil, err
	}
	handler, err := gitserver.Handler(ctx, root)
	if err != nil {
		return nil, err
	}
	certificate, authority, err := certify(gitHost)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		return nil, err
	}
	s := &standIn{
		secure: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		git:    &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
		conns:  make(chan net.Conn),
	}
	s.proxy = &http.Server{Handler: http.HandlerFunc(s.connect), ReadHeaderTimeout: 10 * time.Second}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = s.proxy.Serve(at) }()                                             // until stop
	go func() { _ = s.git.Serve(tunnels{s.conns, make(chan struct{}), at.Addr()}) }() // likewise
	for name, value := range map[string]string{"https_proxy": "http://" + at.Addr().String(), "GIT_SSL_CAINFO": file, "no_proxy": "127.0.0.1,localhost"} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return func() error { return errors.Join(s.proxy.Close(), s.git.Close()) }, nil
}

// connect opens a tunnel to gitHost, and to nothing else.
func (s *standIn) connect(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || host != gitHost {
		http.Error(w, fmt.Sprintf("%s isn't there: only %s is served", r.Host, gitHost), http.StatusBadGateway)
		return
	}
	hijacker, _ := w.(http.Hijacker) // the server's own always is one
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return // the client is gone
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close() // likewise
		return
	}
	s.conns <- tls.Server(tunnel{conn, buffered.Reader}, s.secure)
}

// tunnel is a connection of which some has been read already.
type tunnel struct {
	net.Conn
	rest *bufio.Reader
}

func (t tunnel) Read(p []byte) (int, error) { return t.rest.Read(p) }

// tunnels is a listener of the tunnels that are opened.
type tunnels struct {
	conns chan net.Conn
	over  chan struct{} // closed by Close
	at    net.Addr
}

func (t tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.over:
		return nil, net.ErrClosed
	}
}

func (t tunnels) Addr() net.Addr { return t.at }

func (t tunnels) Close() error {
	close(t.over)
	return nil
}

// certify makes a certificate of a host, and the PEM of what signs it: itself.
func certify(host string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
