package saml

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beevik/etree"
	xrv "github.com/mattermost/xml-roundtrip-validator"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/login"
)

// Everybody can encrypt something for Slipway, so that it was encrypted proves
// nothing: what was is read only by a signature, of the response around it or of
// the assertion in it. Whatever goes wrong on the way is one error, so that nobody
// learns of a text by trying others.

const (
	encryption   = "http://www.w3.org/2001/04/xmlenc#"
	encryption11 = "http://www.w3.org/2009/xmlenc11#"
)

// errSealed is the error of what can't be decrypted.
var errSealed = errors.New("its assertion can't be decrypted by a key of Slipway's")

// opened is the assertion in an EncryptedAssertion, as text of the one form that is
// taken.
func opened(ctx context.Context, el *etree.Element, keys login.Pairs) (*etree.Element, error) {
	text, err := decrypted(ctx, el, keys)
	if err != nil {
		return nil, err
	}
	if sso.PlainXML(text) != nil || xrv.Validate(bytes.NewReader(text)) != nil {
		return nil, errSealed
	}
	doc := etree.NewDocument()
	if doc.ReadFromBytes(text) != nil || doc.Root() == nil {
		return nil, errSealed
	}
	root := doc.Root()
	if !is(root, assertion, "Assertion") {
		return nil, errSealed
	}
	f := form{root: root, asserts: root}
	return root, f.countInner()
}

// countInner refuses an assertion that was encrypted and has more than one of
// anything by which another part could be read than the one that is signed.
func (f *form) countInner() error {
	ids := map[string]bool{}
	for el := range elements(f.root) {
		for _, a := range el.Attr {
			if !strings.EqualFold(a.Key, "id") || a.Space == "xmlns" {
				continue
			}
			if ids[a.Value] {
				return errors.New("two elements of its assertion have one identifier")
			}
			ids[a.Value] = true
		}
		switch el.Tag {
		case "Assertion", "Response", "EncryptedAssertion", "EncryptedID":
			if el != f.root {
				return fmt.Errorf("its assertion has a %s in it", el.Tag)
			}
		case "Signature":
			if !is(el, signature, "Signature") || el.Parent() != f.root {
				return errors.New("its assertion has a signature in another place than its own")
			}
		}
	}
	return nil
}

// decrypted is the text in an EncryptedAssertion.
func decrypted(ctx context.Context, el *etree.Element, keys login.Pairs) ([]byte, error) {
	var data, wrapped *etree.Element
	for part := range elements(el) {
		switch {
		case is(part, encryption, "EncryptedData"):
			if data != nil {
				return nil, errSealed
			}
			data = part
		case is(part, encryption, "EncryptedKey"):
			if wrapped != nil {
				return nil, errSealed
			}
			wrapped = part
		}
	}
	if data == nil || wrapped == nil {
		return nil, errSealed
	}
	size, open := blockCipher(algorithmOf(data))
	hash, known := keyTransport(wrapped)
	if open == nil || !known {
		return nil, fmt.Errorf("its assertion is encrypted by %.100q and %.100q; want AES with a key for RSA-OAEP", algorithmOf(data), algorithmOf(wrapped))
	}
	key, err := cipherOf(wrapped)
	if err != nil {
		return nil, errSealed
	}
	sealed, err := cipherOf(data)
	if err != nil {
		return nil, errSealed
	}
	pairs, err := keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		for _, mask := range masks(wrapped, hash) {
			plain, err := p.Key.Decrypt(nil, key, &rsa.OAEPOptions{Hash: hash, MGFHash: mask})
			if err != nil || len(plain) != size {
				continue
			}
			if text, ok := open(plain, sealed); ok {
				return text, nil
			}
		}
	}
	return nil, errSealed
}

func algorithmOf(el *etree.Element) string {
	for _, child := range el.ChildElements() {
		if is(child, encryption, "EncryptionMethod") {
			return child.SelectAttrValue("Algorithm", "")
		}
	}
	return ""
}

// cipherOf is what is encrypted.
func cipherOf(el *etree.Element) ([]byte, error) {
	for _, child := range el.ChildElements() {
		if !is(child, encryption, "CipherData") {
			continue
		}
		for _, value := range child.ChildElements() {
			if is(value, encryption, "CipherValue") {
				return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value.Text()), ""))
			}
		}
	}
	return nil, errSealed
}

// keyTransport is the hash by which a key is encrypted: RSA-OAEP, and never the
// older way, by which keys can be found out.
func keyTransport(el *etree.Element) (crypto.Hash, bool) {
	if !slices.Contains([]string{encryption + "rsa-oaep-mgf1p", encryption11 + "rsa-oaep"}, algorithmOf(el)) {
		return 0, false
	}
	return hashOf(el, "DigestMethod", crypto.SHA1)
}

// hashOf is the hash that a part of an EncryptionMethod names; without one it is the
// standard's.
func hashOf(el *etree.Element, tag string, standard crypto.Hash) (crypto.Hash, bool) {
	for part := range elements(el) {
		if part.Tag != tag {
			continue
		}
		switch part.SelectAttrValue("Algorithm", "") {
		case "http://www.w3.org/2000/09/xmldsig#sha1", encryption11 + "mgf1sha1":
			return crypto.SHA1, true
		case "http://www.w3.org/2001/04/xmlenc#sha256", signature + "sha256", encryption11 + "mgf1sha256": // the second isn't the standard's, and is written
			return crypto.SHA256, true
		case "http://www.w3.org/2001/04/xmlenc#sha512", encryption11 + "mgf1sha512":
			return crypto.SHA512, true
		}
		return 0, false
	}
	return standard, true
}

// masks are the hashes by which a key may be masked: the one that is named, or SHA-1,
// as the standard has it, and as some write it the key's own.
func masks(el *etree.Element, hash crypto.Hash) []crypto.Hash {
	mask, known := hashOf(el, "MGF", crypto.SHA1)
	if !known || mask == hash {
		return []crypto.Hash{hash}
	}
	return []crypto.Hash{mask, hash}
}

// blockCipher is the size of a key of an algorithm, and what opens a text by one.
func blockCipher(algorithm string) (size int, open func(key, sealed []byte) ([]byte, bool)) {
	switch algorithm {
	case encryption + "aes128-cbc":
		return 16, openCBC
	case encryption + "aes192-cbc":
		return 24, openCBC
	case encryption + "aes256-cbc":
		return 32, openCBC
	case encryption11 + "aes128-gcm":
		return 16, openGCM
	case encryption11 + "aes192-gcm":
		return 24, openGCM
	case encryption11 + "aes256-gcm":
		return 32, openGCM
	}
	return 0, nil
}

func openGCM(key, sealed []byte) ([]byte, bool) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, false
	}
	aead, err := cipher.NewGCM(block)
	if err != nil || len(sealed) < aead.NonceSize() {
		return nil, false
	}
	text, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], nil)
	return text, err == nil
}

// openCBC opens a text that ends with as many bytes of filling as its last one says.
func openCBC(key, sealed []byte) ([]byte, bool) {
	block, err := aes.NewCipher(key)
	if err != nil || len(sealed) < 2*aes.BlockSize || len(sealed)%aes.BlockSize != 0 {
		return nil, false
	}
	text := make([]byte, len(sealed)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, sealed[:aes.BlockSize]).CryptBlocks(text, sealed[aes.BlockSize:])
	filling := int(text[len(text)-1])
	if filling < 1 || filling > aes.BlockSize {
		return nil, false
	}
	return text[:len(text)-filling], true
}
