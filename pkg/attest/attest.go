// Package attest makes and checks attestations of approvals: statements in the form
// of in-toto, in signed envelopes (DSSE), that say who approved what and when, and
// that hold without the server that made them.
//
// Who may approve is pkg/execution's, and whose key signs is pkg/issuer's.
package attest

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
)

const (
	// PayloadType is what an envelope has in it.
	PayloadType = "application/vnd.in-toto+json"
	// StatementType is what a statement is.
	StatementType = "https://in-toto.io/Statement/v1"
	// PredicateType is what it says.
	PredicateType = "https://slipway/attestation/approval/v1"
)

// Statement says of a subject, which is what was shown, that somebody approved it.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Approval  `json:"predicate"`
}

// Subject is what a statement is about.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Approval is who approved what and when.
type Approval struct {
	Approver  Approver          `json:"approver"`
	At        time.Time         `json:"at"`
	Digest    string            `json:"digest"` // of what was shown
	Comment   string            `json:"comment,omitempty"`
	Inputs    map[string]string `json:"inputs,omitempty"`
	Account   string            `json:"account"`
	Org       string            `json:"org,omitempty"`
	Project   string            `json:"project,omitempty"`
	Pipeline  string            `json:"pipeline"`
	Execution string            `json:"execution"`
	Node      plan.NodeID       `json:"node"`
	Attempt   int               `json:"attempt"`
	Message   string            `json:"message,omitempty"`
	Facts     plan.Facts        `json:"facts,omitempty"`
}

// Approver is who approved, and how that was proved.
type Approver struct {
	Type  string `json:"type"` // USER, SERVICE_ACCOUNT, or TOKEN of one that is nobody's
	ID    string `json:"id"`
	Email string `json:"email,omitempty"`
	Login
	// Link is who made the one-time link by which the answer came.
	Link string `json:"link,omitempty"`
}

// Login is how somebody proved who it is.
type Login struct {
	// Method is session, token or link; Provider is by which a session's was begun.
	Method   string   `json:"method"`
	Provider string   `json:"provider,omitempty"`
	AMR      []string `json:"amr,omitempty"` // what the provider said of how
}

// Envelope is a signed statement (DSSE 1.0).
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // in base64
	Signatures  []Signature `json:"signatures" nullable:"false"`
}

// Signature is one of an envelope.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"` // in base64: RSASSA-PKCS1-v1_5 with SHA-256
}

// encoded is what is signed of a payload (DSSE's PAE).
func encoded(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// Sign signs a SHA-256 digest by the key that signs now, and names that.
type Sign func(ctx context.Context, sum []byte) (signature []byte, keyID string, err error)

// Seal makes the envelope of an approval.
func Seal(ctx context.Context, a Approval, sign Sign) (Envelope, error) {
	algorithm, hex, ok := strings.Cut(a.Digest, ":")
	if !ok {
		return Envelope{}, fmt.Errorf("the digest %q has no algorithm", a.Digest)
	}
	payload, err := json.Marshal(Statement{
		Type: StatementType, PredicateType: PredicateType, Predicate: a,
		Subject: []Subject{{Name: a.Execution + "/" + string(a.Node), Digest: map[string]string{algorithm: hex}}},
	})
	if err != nil {
		return Envelope{}, fmt.Errorf("encode the statement: %w", err)
	}
	sum := sha256.Sum256(encoded(PayloadType, payload))
	signature, id, err := sign(ctx, sum[:])
	if err != nil {
		return Envelope{}, err
	}
	return Envelope{
		PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []Signature{{KeyID: id, Sig: base64.StdEncoding.EncodeToString(signature)}},
	}, nil
}

// PublicKey is one that has signed attestations, as a JSON Web Key.
type PublicKey struct {
	ID       string `json:"kid"`
	Type     string `json:"kty"`
	Modulus  string `json:"n"`
	Exponent string `json:"e"`
	// Leaked says that others had the private key: what it signed proves nothing.
	Leaked bool `json:"leaked,omitempty"`
}

// Trusted are the keys that a verifier trusts.
type Trusted struct {
	Keys []PublicKey `json:"keys" nullable:"false"`
}

// public is the key for verification.
func (k PublicKey) public() (*rsa.PublicKey, error) {
	if k.Type != "RSA" {
		return nil, fmt.Errorf("the key %s is of the type %q; want RSA", k.ID, k.Type)
	}
	n, err := base64.RawURLEncoding.DecodeString(k.Modulus)
	if err != nil {
		return nil, fmt.Errorf("the modulus of the key %s: %w", k.ID, err)
	}
	e, err := base64.RawURLEncoding.DecodeString(k.Exponent)
	if err != nil {
		return nil, fmt.Errorf("the exponent of the key %s: %w", k.ID, err)
	}
	exponent := new(big.Int).SetBytes(e)
	if len(n) < 256 || !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() > 1<<31-1 {
		return nil, fmt.Errorf("the key %s isn't one of RSA with 2048 bits or more", k.ID)
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, nil
}

// Verify gives the statement of an envelope that one of the keys has signed. All of
// its signatures must hold, and all that it says must agree.
func Verify(e Envelope, keys Trusted) (Statement, error) {
	if e.PayloadType != PayloadType {
		return Statement{}, fmt.Errorf("the envelope has %.100q; want %s", e.PayloadType, PayloadType)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return Statement{}, fmt.Errorf("decode the payload: %w", err)
	}
	if len(e.Signatures) == 0 {
		return Statement{}, errors.New("the envelope isn't signed")
	}
	sum := sha256.Sum256(encoded(e.PayloadType, payload))
	for _, s := range e.Signatures {
		if err := s.check(sum[:], keys); err != nil {
			return Statement{}, err
		}
	}
	var st Statement
	if err := json.Unmarshal(payload, &st); err != nil {
		return Statement{}, fmt.Errorf("read the statement: %w", err)
	}
	return st, st.check()
}

func (s Signature) check(sum []byte, keys Trusted) error {
	at := slices.IndexFunc(keys.Keys, func(k PublicKey) bool { return k.ID == s.KeyID })
	if at < 0 {
		return fmt.Errorf("the key %.100q that signed it isn't among those that are trusted", s.KeyID)
	}
	k := keys.Keys[at]
	if k.Leaked {
		return fmt.Errorf("the key %s that signed it has leaked, so that the signature proves nothing", k.ID)
	}
	public, err := k.public()
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(s.Sig)
	if err != nil {
		return fmt.Errorf("decode the signature: %w", err)
	}
	if rsa.VerifyPKCS1v15(public, crypto.SHA256, sum, signature) != nil {
		return fmt.Errorf("the signature isn't of the key %s, or the statement was changed", k.ID)
	}
	return nil
}

// check says what of a statement isn't as those are that Slipway makes.
func (st Statement) check() error {
	switch {
	case st.Type != StatementType:
		return fmt.Errorf("the statement is a %.100q; want %s", st.Type, StatementType)
	case st.PredicateType != PredicateType:
		return fmt.Errorf("the statement says a %.100q; want %s", st.PredicateType, PredicateType)
	case len(st.Subject) != 1 || st.Predicate.Digest == "" || "sha256:"+st.Subject[0].Digest["sha256"] != st.Predicate.Digest:
		return errors.New("the statement's subject isn't what was approved")
	}
	return nil
}
