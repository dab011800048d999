package issuer_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/issuer"
)

// approved is an attestation that an issuer signs.
func approved(t *testing.T, i *issuer.Issuer) attest.Envelope {
	t.Helper()
	e, err := attest.Seal(t.Context(), attest.Approval{Digest: "sha256:00aa", Execution: "x1", Node: "s.a", Approver: attest.Approver{ID: "ada"}}, i.SignDigest)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func verified(t *testing.T, i *issuer.Issuer, e attest.Envelope) error {
	t.Helper()
	keys, err := i.Attesting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = attest.Verify(e, keys)
	return err
}

// An attestation is verified years after the key that signed it is gone, by a process
// that never had it, and by no key that only tokens were signed by.
func TestAttestationsOutliveKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(-time.Hour))
	old := approved(t, b.Issuer)
	again := approved(t, b.process())
	b.set(rotation().Add(3 * 365 * 24 * time.Hour))
	other := b.process()
	if keys, err := other.Attesting(t.Context()); err != nil || len(keys.Keys) != 1 {
		t.Fatalf("%d keys (%v); want the one that has signed", len(keys.Keys), err)
	}
	next := approved(t, other)
	for _, e := range []attest.Envelope{old, again, next} {
		if err := verified(t, b.process(), e); err != nil {
			t.Error(err)
		}
	}
	if old.Signatures[0].KeyID == next.Signatures[0].KeyID {
		t.Error("the same key signs years later")
	}
}

// What a key has signed that others have proves nothing, whenever it was signed.
func TestALeakedKeyAttestsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(24*time.Hour*30))
	thief := b.process()
	leaked := approved(t, b.Issuer)
	_ = approved(t, thief) // it knows the key
	b.set(b.time().Add(time.Hour))
	if _, err := b.Rotate(t.Context(), "default", true); err != nil {
		t.Fatal(err)
	}
	if err := verified(t, b.Issuer, leaked); err == nil || !strings.Contains(err.Error(), "has leaked") {
		t.Errorf("%v; want that the key has leaked", err)
	}
	if err := verified(t, b.Issuer, approved(t, b.process())); err != nil {
		t.Errorf("the key after it: %v", err)
	}
}

// A statement holds as it was signed and no other way.
func TestForgedAttestations(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(24*time.Hour*30))
	e, foreign := approved(t, b.Issuer), approved(t, newBench(t, rotation()).Issuer)
	keys, err := b.Attesting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	forged := base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(payload), `"ada"`, `"eve"`, 1)))
	for name, tt := range map[string]struct {
		envelope attest.Envelope
		keys     attest.Trusted
		says     string
	}{
		"another approver":       {attest.Envelope{PayloadType: e.PayloadType, Payload: forged, Signatures: e.Signatures}, keys, "the statement was changed"},
		"no signature":           {attest.Envelope{PayloadType: e.PayloadType, Payload: e.Payload}, keys, "isn't signed"},
		"another's signature":    {attest.Envelope{PayloadType: e.PayloadType, Payload: e.Payload, Signatures: foreign.Signatures}, keys, "isn't among those that are trusted"},
		"a second one by nobody": {attest.Envelope{PayloadType: e.PayloadType, Payload: e.Payload, Signatures: append(e.Signatures[:1:1], foreign.Signatures...)}, keys, "isn't among those that are trusted"},
		"another type":           {attest.Envelope{PayloadType: "text/plain", Payload: e.Payload, Signatures: e.Signatures}, keys, "want application/vnd.in-toto+json"},
		"no keys":                {e, attest.Trusted{}, "isn't among those that are trusted"},
		"a small key": {e, attest.Trusted{Keys: []attest.PublicKey{{ID: e.Signatures[0].KeyID, Type: "RSA", Modulus: "AQAB", Exponent: "AQAB"}}},
			"isn't one of RSA with 2048 bits or more"},
		"a key of another kind": {e, attest.Trusted{Keys: []attest.PublicKey{{ID: e.Signatures[0].KeyID, Type: "oct"}}}, "want RSA"},
	} {
		if _, err := attest.Verify(tt.envelope, tt.keys); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want …%s", name, err, tt.says)
		}
	}
}

// What the key has signed that is no statement about an approval isn't one.
func TestAnAttestationIsOfAnApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t, rotation().Add(24*time.Hour*30))
	e := approved(t, b.Issuer)
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var st attest.Statement
	if err := json.Unmarshal(payload, &st); err != nil {
		t.Fatal(err)
	}
	if st.Predicate.Approver.ID != "ada" || st.Subject[0].Digest["sha256"] != "00aa" || st.Subject[0].Name != "x1/s.a" {
		t.Errorf("the statement is %+v", st)
	}
}
