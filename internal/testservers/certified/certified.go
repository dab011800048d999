// Package certified has servers with TLS for tests at an address of this machine, whose
// certificates a program trusts that is started with SSL_CERT_FILE.
//
// Go's own httptest has one for loopback and example.com, which programs refuse
// that don't ask their own machine.
package certified

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Address is one of this machine, with its certificate.
type Address struct {
	CA   string // a file with who has signed it, as PEM
	ip   net.IP
	tb   testing.TB
	cert tls.Certificate
}

// New makes a certificate of an address.
func New(tb testing.TB, ip net.IP) *Address {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{ip},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	a := &Address{CA: filepath.Join(tb.TempDir(), "ca.pem"), ip: ip, tb: tb, cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
	if err := os.WriteFile(a.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Start starts a server there, and gives its address.
func (a *Address) Start(s *httptest.Server) string {
	a.tb.Helper()
	l, err := tls.Listen("tcp", net.JoinHostPort(a.ip.String(), "0"), &tls.Config{Certificates: []tls.Certificate{a.cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		a.tb.Fatal(err)
	}
	_ = s.Listener.Close() // its own, on loopback
	s.Listener = l
	s.Start()
	return "https://" + l.Addr().String()
}
