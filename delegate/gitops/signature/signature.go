// Package signature says who has signed a commit or a tag of Git: it reads the object and
// checks its OpenPGP signature by keys that somebody trusts (semantics/gitops §14).
//
// It fetches nothing, and runs no program. Which objects are to be signed, and by which
// keys, a project says (pkg/gitops/rules).
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

// Object is a commit or a tag, as Git keeps it.
type Object struct {
	payload, signature []byte
	// Target is the id of what a tag points to; empty: it is a commit.
	Target string
}

// MaxObject bounds how many bytes a commit or a tag has, with its message.
const MaxObject = 1 << 20

const (
	armored = "-----BEGIN PGP SIGNATURE-----"
	ssh     = "-----BEGIN SSH SIGNATURE-----"
)

// Read reads the text of an object.
func Read(text []byte) Object {
	if target, ok := bytes.CutPrefix(text, []byte("object ")); ok {
		id, _, _ := bytes.Cut(target, []byte{'\n'})
		o := Object{payload: text, Target: string(id)}
		for _, begins := range []string{armored, ssh} {
			if i := bytes.LastIndex(text, []byte("\n"+begins)); i >= 0 {
				o.payload, o.signature = text[:i+1], text[i+1:]
				break
			}
		}
		return o
	}
	var o Object
	head, message, _ := bytes.Cut(text, []byte("\n\n"))
	own, other := false, false // whether a line goes on with the signature, or with another one
	for line := range bytes.Lines(append(head, '\n')) {
		goesOn := bytes.HasPrefix(line, []byte(" "))
		switch signed, is := bytes.CutPrefix(line, []byte("gpgsig ")); {
		case is:
			own, other = true, false
			o.signature = append(o.signature, signed...)
			continue
		case bytes.HasPrefix(line, []byte("gpgsig-sha256 ")):
			own, other = false, true
			continue
		case goesOn && own:
			o.signature = append(o.signature, line[1:]...)
			continue
		case goesOn && other:
			continue
		}
		own, other = false, false
		o.payload = append(o.payload, line...)
	}
	o.payload = append(append(o.payload, '\n'), message...)
	return o
}

// Check says why an object isn't signed by one of some keys, of which each is also known;
// nil: it is. A key may be named by its own id or by that of the key that it belongs to.
func (o Object) Check(known []access.Key, allowed []string, now time.Time) error {
	switch {
	case len(bytes.TrimSpace(o.signature)) == 0:
		return fault.New(fault.Forbidden, "it isn't signed")
	case bytes.HasPrefix(o.signature, []byte(ssh)):
		return fault.New(fault.Forbidden, "it is signed with a key of SSH; want a signature of OpenPGP, as no others can be checked")
	case !bytes.HasPrefix(o.signature, []byte(armored)):
		return fault.New(fault.Forbidden, "it has a signature that isn't of OpenPGP")
	}
	var ring openpgp.EntityList
	for _, k := range known {
		some, err := openpgp.ReadArmoredKeyRing(strings.NewReader(k.Data))
		if err != nil {
			return fault.New(fault.Invalid, "the key %s that is saved can't be read: %w", k.ID, err)
		}
		ring = append(ring, some...)
	}
	block, err := armor.Decode(bytes.NewReader(o.signature))
	if err != nil || block.Type != openpgp.SignatureType {
		return fault.New(fault.Forbidden, "its signature can't be read")
	}
	signed, signer, err := openpgp.VerifyDetachedSignature(ring, bytes.NewReader(o.payload), block.Body, &packet.Config{Time: func() time.Time { return now }})
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return fault.New(fault.Forbidden, "it is signed with a key that isn't among those that are saved")
	case errors.Is(err, pgperrors.ErrKeyExpired):
		return fault.New(fault.Forbidden, "it is signed with a key that has expired")
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return fault.New(fault.Forbidden, "it is signed with a key that was revoked")
	case err != nil:
		return fault.New(fault.Forbidden, "its signature is bad: %w", err)
	}
	ids := []string{ID(signer.PrimaryKey.KeyId)}
	if signed.IssuerKeyId != nil {
		ids = append(ids, ID(*signed.IssuerKeyId))
	}
	for _, a := range allowed {
		if slices.Contains(ids, a) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "it is signed with the key %s, which is none of %s", ids[len(ids)-1], strings.Join(allowed, ", "))
}

// ID writes the id of a key as documents do.
func ID(key uint64) string { return fmt.Sprintf("%016X", key) }
