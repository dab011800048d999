package door_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/wire/door"
)

// write makes a certificate of its own for a name, and writes it and its key.
func write(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// touch makes sure that a file that was written again shows it.
func touch(t *testing.T, file string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestACertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := write(t, dir, "first")
	c, err := door.LoadCertificate(certFile, keyFile, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", c.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = conn.(*tls.Conn).HandshakeContext(t.Context()) }()
		}
	}()
	shown := func() string {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	now := time.Now()
	for i, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "first"},
		{func() { write(t, dir, "second") }, "second"},
		{func() { _ = os.WriteFile(keyFile, []byte("half"), 0o600) }, "second"},
		{func() { _ = os.Remove(certFile) }, "second"},
		{func() { write(t, dir, "third") }, "third"},
	} {
		step.change()
		if _, err := os.Stat(certFile); err == nil {
			touch(t, certFile, now.Add(time.Duration(i)*time.Second))
		}
		if got := shown(); got != step.want {
			t.Errorf("after step %d the certificate is %q, want %q", i, got, step.want)
		}
	}
}

func TestACertificateThatCantBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	one, _ := write(t, t.TempDir(), "one")
	_, other := write(t, t.TempDir(), "other")
	for _, key := range []string{other, filepath.Join(t.TempDir(), "none"), one} {
		if _, err := door.LoadCertificate(one, key, slog.New(slog.DiscardHandler)); !fault.Is(err, fault.Invalid) {
			t.Errorf("with key %s: %v, want INVALID", key, err)
		}
	}
}
