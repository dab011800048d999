package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Delivery is what a host sent.
type Delivery struct {
	Source string // Github, Gitlab, Bitbucket or Custom
	Header Header
	Body   []byte
}

// ID names a delivery: a host gives the same id to the same delivery when it
// sends it again. Empty: the sender gives none, so each is a new one. The id
// is part of no signature, so it counts only together with the body.
func (d Delivery) ID() string {
	var id string
	switch d.Source {
	case Github:
		id = d.Header.Get("X-GitHub-Delivery")
	case Gitlab:
		id = d.Header.Get("Idempotency-Key")
		if id == "" {
			id = d.Header.Get("X-Gitlab-Event-UUID")
		}
	case Bitbucket:
		id = d.Header.Get("X-Request-UUID")
		if id == "" {
			id = d.Header.Get("X-Request-Id")
		}
	case Custom:
		id = d.Header.Get("Idempotency-Key")
	}
	if id == "" {
		return ""
	}
	sum := sha256.Sum256(d.Body)
	return id + "/" + hex.EncodeToString(sum[:8])
}

// Proof is what a delivery shows to prove where it is from; empty: nothing.
func (d Delivery) Proof() string {
	switch d.Source {
	case Gitlab:
		return d.Header.Get("X-Gitlab-Token")
	case Bitbucket:
		return d.Header.Get("X-Hub-Signature")
	}
	return d.Header.Get("X-Hub-Signature-256")
}

// Proves says whether the sender knows the secret (semantics/pipeline §11.2,
// Auth): GitLab sends it, the others sign the body with it. An empty secret
// proves nothing.
func (d Delivery) Proves(secret string) bool {
	if secret == "" {
		return false
	}
	if d.Source == Gitlab {
		return subtle.ConstantTimeCompare([]byte(d.Proof()), []byte(secret)) == 1
	}
	algorithm, digits, _ := strings.Cut(d.Proof(), "=")
	got, err := hex.DecodeString(digits)
	if err != nil || algorithm != "sha256" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(d.Body)
	return hmac.Equal(got, mac.Sum(nil))
}

// Unproven is the error of a delivery that may be forged. It doesn't say which
// triggers there are.
func (d Delivery) Unproven() error {
	want := "X-Hub-Signature-256"
	switch d.Source {
	case Gitlab:
		want = "X-Gitlab-Token"
	case Bitbucket:
		want = "X-Hub-Signature"
	}
	if d.Proof() == "" {
		return fault.New(fault.Unauthenticated, "the delivery has no header %s; give the webhook the secret that its trigger has", want)
	}
	return fault.New(fault.Unauthenticated, "no trigger has a secret that fits the delivery's %s", want)
}
