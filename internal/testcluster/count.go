package testcluster

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// Discoveries stands before an API server, whose authority ca is, and counts
// how often its kinds are asked for.
func Discoveries(tb testing.TB, server, ca string) (at string, count *atomic.Int32) {
	tb.Helper()
	to, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca))
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	count = new(atomic.Int32)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" {
			count.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	tb.Cleanup(front.Close)
	return front.URL, count
}
