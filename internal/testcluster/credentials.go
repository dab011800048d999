package testcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// credentials are the files that the API server and its clients know each other by.
type credentials struct {
	token       string // of the user "admin", in the group system:masters
	tokenFile   string // for --token-auth-file
	authority   []byte // PEM; the only one that the kubeconfig trusts
	caFile      string
	certFile    string // the API server's, for 127.0.0.1 and its name inside the cluster
	keyFile     string
	accountFile string // key that signs service account tokens
}

// newCredentials makes credentials in dir, none of which have been used before.
func newCredentials(dir string) (credentials, error) {
	c := credentials{
		token:       rand.Text(),
		tokenFile:   filepath.Join(dir, "tokens.csv"),
		caFile:      filepath.Join(dir, "ca.crt"),
		certFile:    filepath.Join(dir, "apiserver.crt"),
		keyFile:     filepath.Join(dir, "apiserver.key"),
		accountFile: filepath.Join(dir, "service-account.key"),
	}
	authority, authorityKey, err := certificate(authorityTemplate(), nil, nil)
	if err != nil {
		return credentials{}, err
	}
	serving, servingKey, err := certificate(servingTemplate(), authority, authorityKey)
	if err != nil {
		return credentials{}, err
	}
	accountKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return credentials{}, err
	}
	c.authority = certificatePEM(authority)
	files := map[string][]byte{
		c.tokenFile: []byte(c.token + ",admin,admin,system:masters\n"),
		c.caFile:    c.authority,
		c.certFile:  certificatePEM(serving),
	}
	for name, key := range map[string]*ecdsa.PrivateKey{c.keyFile: servingKey, c.accountFile: accountKey} {
		if files[name], err = keyPEM(key); err != nil {
			return credentials{}, err
		}
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return credentials{}, err
		}
	}
	return c, nil
}

func authorityTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "testcluster-ca"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
}

func servingTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// certificate signs template with parent's key, or with its own where there is no parent.
func certificate(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	// An hour back, for clocks that were set right after the start; a year is longer than any demonstration.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	return signed, key, err
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
