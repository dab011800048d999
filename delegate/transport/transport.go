// Package transport makes HTTP transports to hosts that are known by certificates of
// their own, that ask for one, or that are reached through a proxy.
//
// What is sent over them, and what opens a host besides, is the callers'.
package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Fit makes a transport reach a host as is said; nil: as the delegate reaches all.
func Fit(t *http.Transport, over *task.Over) error {
	if over == nil {
		return nil
	}
	if over.Proxy != "" {
		if _, err := url.Parse(over.Proxy); err != nil {
			return fault.New(fault.Invalid, "the proxy is no address: %w", errors.Unwrap(err)) // the whole error has all of it, and so a password in it
		}
		choose := (&httpproxy.Config{HTTPProxy: over.Proxy, HTTPSProxy: over.Proxy, NoProxy: over.NoProxy}).ProxyFunc()
		t.Proxy = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
	}
	cfg, err := TLS(over)
	if err != nil {
		return err
	}
	t.TLSClientConfig = cfg
	return nil
}

// New makes a transport that reaches a host as is said. It keeps no connections.
func New(over *task.Over) (*http.Transport, error) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	return t, Fit(t, over)
}

// TLS is how the two sides know each other.
func TLS(over *task.Over) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: over.Insecure} //nolint:gosec // as its owner says
	if over.CAPEM != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // this system has none
		}
		if !roots.AppendCertsFromPEM([]byte(over.CAPEM)) {
			return nil, fault.New(fault.Invalid, "found a certificate of the host that is none; want a chain in PEM")
		}
		cfg.RootCAs = roots
	}
	if over.ClientCertPEM != "" {
		pair, err := tls.X509KeyPair([]byte(over.ClientCertPEM), []byte(over.ClientKeyPEM))
		if err != nil {
			return nil, fault.New(fault.Invalid, "the client's certificate and its key, in PEM, can't be used: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// Authorities are the certificates of the system's authorities and of more, for
// programs that take them from a file.
func Authorities(more string) string {
	for _, file := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
	} {
		if text, err := os.ReadFile(file); err == nil {
			return string(text) + "\n" + more + "\n"
		}
	}
	return more + "\n"
}
