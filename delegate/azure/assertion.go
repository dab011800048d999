package azure

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // x5t is defined as a SHA-1; the signature isn't
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// assertion is what an application proves with that it has the private key of
// its certificate: a JWT as RFC 7523 and Microsoft's "certificate credentials"
// want it.
func assertion(a task.Azure, audience string) (string, error) {
	key, cert, err := keyPair([]byte(a.Certificate))
	if err != nil {
		return "", err
	}
	thumb := sha1.Sum(cert.Raw) //nolint:gosec // see above
	now := time.Now()
	head, err := part(map[string]any{"alg": "RS256", "typ": "JWT", "x5t": base64.RawURLEncoding.EncodeToString(thumb[:])})
	if err != nil {
		return "", err
	}
	claims, err := part(map[string]any{
		"aud": audience, "iss": a.Client, "sub": a.Client, "jti": rand.Text(),
		"nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	})
	if err != nil {
		return "", err
	}
	text := head + "." + claims
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func part(doc map[string]any) (string, error) {
	text, err := json.Marshal(doc)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// keyPair reads a private key and its certificate, in any order. What is wrong
// with them is said without repeating them.
func keyPair(text []byte) (*rsa.PrivateKey, *x509.Certificate, error) {
	var key *rsa.PrivateKey
	var cert *x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE":
			if c, err := x509.ParseCertificate(block.Bytes); err == nil && cert == nil {
				cert = c
			}
		case "PRIVATE KEY":
			if k, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
				key, _ = k.(*rsa.PrivateKey)
			}
		case "RSA PRIVATE KEY":
			key, _ = x509.ParsePKCS1PrivateKey(block.Bytes)
		}
	}
	if key == nil || cert == nil {
		return nil, nil, fault.New(fault.Invalid, "the certificate of the Azure connector must be PEM with a certificate and its RSA private key").Causing(fault.Authentication)
	}
	return key, cert, nil
}
