package saml_test

import (
	"bytes"
	"compress/flate"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/xml"
	"io"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beevik/etree"
	crewjam "github.com/crewjam/saml"
	"github.com/crewjam/saml/xmlenc"

	"github.com/slipway-cd/slipway/internal/testservers/samlidp"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/login"
)

func newPair(tb testing.TB) login.Pair {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Slipway"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return login.Pair{Key: key, Certificate: certificate}
}

// sealing is how an assertion is encrypted, by a library that isn't ours.
type sealing func(tb testing.TB, text []byte, to login.Pair) *etree.Element

func byLibrary(change func(*xmlenc.RSA)) sealing {
	return func(tb testing.TB, text []byte, to login.Pair) *etree.Element {
		tb.Helper()
		e := xmlenc.OAEP()
		e.DigestMethod = &xmlenc.SHA1
		change(&e)
		el, err := e.Encrypt(to.Certificate, text, nil)
		if err != nil {
			tb.Fatal(err)
		}
		return el
	}
}

// byGCM encrypts as the standard has it, which the library's own doesn't.
func byGCM(tb testing.TB, text []byte, to login.Pair) *etree.Element {
	tb.Helper()
	key, nonce := make([]byte, 32), make([]byte, 12)
	_, _ = rand.Read(key)
	_, _ = rand.Read(nonce)
	block, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		tb.Fatal(err)
	}
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &to.Key.PublicKey, key, nil)
	if err != nil {
		tb.Fatal(err)
	}
	in := base64.StdEncoding.EncodeToString
	doc := etree.NewDocument()
	if err := doc.ReadFromString(`<e:EncryptedData xmlns:e="http://www.w3.org/2001/04/xmlenc#" xmlns:d="http://www.w3.org/2000/09/xmldsig#">` +
		`<e:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#aes256-gcm"/><d:KeyInfo><e:EncryptedKey><e:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#rsa-oaep">` +
		`<d:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><f:MGF xmlns:f="http://www.w3.org/2009/xmlenc11#" Algorithm="http://www.w3.org/2009/xmlenc11#mgf1sha256"/></e:EncryptionMethod>` +
		`<e:CipherData><e:CipherValue>` + in(wrapped) + `</e:CipherValue></e:CipherData></e:EncryptedKey></d:KeyInfo><e:CipherData><e:CipherValue>` +
		in(append(nonce, aead.Seal(nil, nonce, text, nil)...)) + `</e:CipherValue></e:CipherData></e:EncryptedData>`); err != nil {
		tb.Fatal(err)
	}
	return doc.Root()
}

// encrypted puts what is encrypted in the place of a response's assertion.
func encrypted(tb testing.TB, text string, seal sealing, to login.Pair) string {
	tb.Helper()
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		tb.Fatal(err)
	}
	asserts := doc.Root().FindElement("./Assertion")
	inner := etree.NewDocument()
	inner.SetRoot(asserts.Copy())
	plain, err := inner.WriteToBytes()
	if err != nil {
		tb.Fatal(err)
	}
	at := asserts.Index()
	doc.Root().RemoveChild(asserts)
	holder := etree.NewElement("saml:EncryptedAssertion")
	holder.CreateAttr("xmlns:saml", "urn:oasis:names:tc:SAML:2.0:assertion")
	holder.AddChild(seal(tb, plain, to))
	doc.Root().InsertChildAt(at, holder)
	out, err := doc.WriteToString()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func sealings() map[string]sealing {
	return map[string]sealing{
		"AES-256-CBC": byLibrary(func(*xmlenc.RSA) {}),
		"AES-128-CBC": byLibrary(func(e *xmlenc.RSA) { e.BlockCipher = xmlenc.AES128CBC }),
		"by SHA-256":  byLibrary(func(e *xmlenc.RSA) { e.DigestMethod = &xmlenc.SHA256 }),
		"AES-256-GCM": byGCM,
	}
}

// What a provider encrypts for Slipway is read, by the key that signs now and by the
// one before.
func TestEncryptedAssertions(t *testing.T) {
	t.Parallel()
	for name, seal := range sealings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			now, before := newPair(t), newPair(t)
			before.Past = true
			d.keys = []login.Pair{now, before}
			for _, to := range d.keys {
				d.idp.Forge(func(text string) string { return encrypted(t, text, seal, to) })
				got, err := d.read()
				if err != nil || got.Subject != "ada@example.com" || got.Asked != "nonce" {
					t.Errorf("got %+v, %v", got, err)
				}
			}
		})
	}
}

// A response is signed over what is encrypted in it.
func TestASignedResponseWithAnEncryptedAssertion(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.keys = []login.Pair{newPair(t)}
	d.idp.Bend(func(a *samlidp.Answer) { a.SignAssertion = false })
	resign := func(text string) string {
		doc := etree.NewDocument()
		if err := doc.ReadFromString(encrypted(t, text, byGCM, d.keys[0])); err != nil {
			t.Fatal(err)
		}
		doc.Root().InsertChildAt(1, d.idp.Sign(doc.Root(), "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"))
		out, err := doc.WriteToString()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var kept string
	d.idp.Forge(func(text string) string {
		kept = resign(text)
		return kept
	})
	if got, err := d.read(); err != nil || got.Subject != "ada@example.com" {
		t.Fatalf("got %+v, %v", got, err)
	}
	// Another one, encrypted for Slipway by whoever likes, isn't covered.
	d.idp.Forge(func(string) string {
		doc := etree.NewDocument()
		if err := doc.ReadFromString(kept); err != nil {
			t.Fatal(err)
		}
		root := doc.Root()
		evil := etree.NewDocument()
		evil.SetRoot(parse(t, d.plain(t)).evil)
		text, err := evil.WriteToBytes()
		if err != nil {
			t.Fatal(err)
		}
		holder := root.FindElement("./EncryptedAssertion")
		holder.RemoveChild(holder.ChildElements()[0])
		holder.AddChild(byGCM(t, text, d.keys[0]))
		out, err := doc.WriteToString()
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	_, err := d.read()
	d.want(login.Unproved, err)
}

// plain is a response as another provider of the same people writes it.
func (d *desk) plain(tb testing.TB) string {
	tb.Helper()
	other := samlidp.New(tb)
	other.At(func() time.Time { return d.now })
	other.Person("root@example.com", samlidp.Attributes{"mail": {"root@example.com"}})
	text, err := base64.StdEncoding.DecodeString(other.Respond("_nonce", acs, entity))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Everybody can encrypt something for Slipway: that proves nothing. Nor does any way
// to put something else beside what was signed.
func TestAttacksByEncryption(t *testing.T) {
	t.Parallel()
	put := func(t *testing.T, el *etree.Element, to login.Pair) *etree.Element {
		t.Helper()
		doc := etree.NewDocument()
		doc.SetRoot(el)
		text, err := doc.WriteToBytes()
		if err != nil {
			t.Fatal(err)
		}
		holder := etree.NewElement("saml:EncryptedAssertion")
		holder.AddChild(byGCM(t, text, to))
		return holder
	}
	for name, wrap := range map[string]func(t *testing.T, d *desk, r *tree) *etree.Element{
		"unsigned": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			r.root.AddChild(put(t, r.evil, d.keys[0]))
			return r.root
		},
		"with the signature of another": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.evil.InsertChildAt(1, r.signature.Copy())
			r.root.RemoveChild(r.asserts)
			r.root.AddChild(put(t, r.evil, d.keys[0]))
			return r.root
		},
		"with the signed one in it": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			r.evil.AddChild(r.asserts)
			r.root.AddChild(put(t, r.evil, d.keys[0]))
			return r.root
		},
		"with the signed one in its signature": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			signature := r.signature.Copy()
			r.root.RemoveChild(r.asserts)
			object := signature.CreateElement("ds:Object")
			object.AddChild(r.asserts)
			r.evil.InsertChildAt(1, signature)
			r.root.AddChild(put(t, r.evil, d.keys[0]))
			return r.root
		},
		"beside the signed one": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.AddChild(put(t, r.evil, d.keys[0]))
			return r.root
		},
		"before the signed one": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.InsertChildAt(r.asserts.Index(), put(t, r.evil, d.keys[0]))
			return r.root
		},
		"twice": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			r.root.AddChild(put(t, r.evil, d.keys[0]))
			r.root.AddChild(put(t, r.asserts, d.keys[0]))
			return r.root
		},
		"two texts in one": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			holder := put(t, r.evil, d.keys[0])
			holder.AddChild(put(t, r.asserts, d.keys[0]).ChildElements()[0])
			r.root.AddChild(holder)
			return r.root
		},
		"a Response in it": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			outer := r.root.Copy()
			outer.RemoveChild(outer.FindElement("./Assertion"))
			outer.AddChild(put(t, r.root, d.keys[0]))
			return outer
		},
		"by the wrong key": func(t *testing.T, _ *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			r.root.AddChild(put(t, r.asserts, newPair(t)))
			return r.root
		},
		"by the older way": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			holder := put(t, r.asserts, d.keys[0])
			holder.FindElement(".//EncryptedKey/EncryptionMethod").CreateAttr("Algorithm", "http://www.w3.org/2001/04/xmlenc#rsa-1_5")
			r.root.AddChild(holder)
			return r.root
		},
		"by Triple DES": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			holder := put(t, r.asserts, d.keys[0])
			holder.FindElement("./EncryptedData/EncryptionMethod").CreateAttr("Algorithm", "http://www.w3.org/2001/04/xmlenc#tripledes-cbc")
			r.root.AddChild(holder)
			return r.root
		},
		"cut short": func(t *testing.T, d *desk, r *tree) *etree.Element {
			t.Helper()
			r.root.RemoveChild(r.asserts)
			holder := put(t, r.asserts, d.keys[0])
			value := holder.FindElement("./EncryptedData/CipherData/CipherValue")
			value.SetText("AAAA")
			r.root.AddChild(holder)
			return r.root
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.keys = []login.Pair{newPair(t)}
			d.idp.Forge(func(text string) string {
				doc := etree.NewDocument()
				doc.SetRoot(wrap(t, d, parse(t, text)))
				forged, err := doc.WriteToString()
				if err != nil {
					t.Fatal(err)
				}
				return forged
			})
			got, err := d.read()
			d.want(login.Unproved, err)
			if got.Subject != "" {
				t.Errorf("it tells of %+v", got)
			}
		})
	}
}

// Texts of CBC that are of no whole blocks, or end in no filling, are refused alike.
func TestBrokenBlocks(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.keys = []login.Pair{newPair(t)}
	var says []string
	for _, length := range []int{0, 1, 15, 16, 17, 31, 32, 48} {
		d.idp.Forge(func(text string) string {
			doc := etree.NewDocument()
			if err := doc.ReadFromString(encrypted(t, text, sealings()["AES-256-CBC"], d.keys[0])); err != nil {
				t.Fatal(err)
			}
			doc.FindElement("//EncryptedData/CipherData/CipherValue").SetText(base64.StdEncoding.EncodeToString(make([]byte, length)))
			out, err := doc.WriteToString()
			if err != nil {
				t.Fatal(err)
			}
			return out
		})
		_, err := d.read()
		d.want(login.Unproved, err)
		if err != nil && (len(says) == 0 || says[0] != err.Error()) {
			says = append(says, err.Error())
		}
	}
	if len(says) != 1 {
		t.Errorf("what is wrong is told apart: %q", says)
	}
}

// Slipway signs its requests where the document says so, and tells by which key.
func TestSignedRequests(t *testing.T) {
	t.Parallel()
	d := setup(t)
	next, past := newPair(t), newPair(t)
	past.Past = true
	d.keys = []login.Pair{newPair(t), next, past}
	p := d.provider()
	for _, signs := range []bool{false, true} {
		p.Federation.Signs = signs
		at, err := d.client.Begin(t.Context(), p, base, d.pairs, login.Attempt{State: "state", Nonce: "nonce"})
		if err != nil {
			t.Fatal(err)
		}
		checkRequest(t, at, signs, d.keys[0])
		text, err := d.client.Describe(t.Context(), p, base, d.pairs)
		if err != nil {
			t.Fatal(err)
		}
		var m crewjam.EntityDescriptor
		if err := xml.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		sp := m.SPSSODescriptors[0]
		if len(sp.KeyDescriptors) != 2 || *sp.AuthnRequestsSigned != signs || strings.Contains(string(text), base64.StdEncoding.EncodeToString(past.Certificate.Raw)) {
			t.Errorf("the metadata tell of %d keys, signed %v", len(sp.KeyDescriptors), *sp.AuthnRequestsSigned)
		}
	}
}

func checkRequest(t *testing.T, at string, signs bool, by login.Pair) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	packed, err := base64.StdEncoding.DecodeString(q.Get("SAMLRequest"))
	if err != nil {
		t.Fatal(err)
	}
	request, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil || !bytes.Contains(request, []byte(`ID="_nonce"`)) {
		t.Errorf("the request is %s (%v)", request, err)
	}
	signedPart, _, found := strings.Cut(u.RawQuery, "&Signature=")
	if found != signs {
		t.Fatalf("signed %v; want %v", found, signs)
	}
	if !signs {
		return
	}
	signature, err := base64.StdEncoding.DecodeString(q.Get("Signature"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(signedPart))
	if err := rsa.VerifyPKCS1v15(&by.Key.PublicKey, crypto.SHA256, sum[:], signature); err != nil || q.Get("SigAlg") != "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256" {
		t.Errorf("by %s: %v", q.Get("SigAlg"), err)
	}
}

// Metadata that can't be read again count on for a week, and nobody is asked for them
// at each login.
func TestMetadataThatCannotBeReadAgain(t *testing.T) {
	t.Parallel()
	d := setup(t)
	p := d.provider()
	p.Federation = sso.Federation{MetadataURL: d.idp.URL + "/metadata"}
	begin := func() error {
		_, err := d.client.Begin(t.Context(), p, base, d.pairs, login.Attempt{State: "state", Nonce: "nonce"})
		return err
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	d.idp.Away(true)
	d.now = d.now.Add(25 * time.Hour)
	for range 3 {
		if err := begin(); err != nil {
			t.Errorf("a day later: %v", err)
		}
	}
	if n := d.idp.Count("/metadata"); n != 2 {
		t.Errorf("the metadata were asked for %d times; want 2", n)
	}
	d.now = d.now.Add(7 * 24 * time.Hour)
	d.want(login.Away, begin())
	d.idp.Away(false)
	if err := begin(); err != nil {
		t.Error(err)
	}
}

// Whoever posts what none of the keys has made doesn't have metadata count for longer.
func TestNonsenseKeepsNoMetadata(t *testing.T) {
	t.Parallel()
	d := setup(t)
	p := d.provider()
	p.Federation = sso.Federation{MetadataURL: d.idp.URL + "/metadata"}
	read := func() error {
		_, err := d.client.Read(t.Context(), p, base, d.pairs, d.idp.Respond("_nonce", acs, entity))
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	d.idp.Rotate()
	d.idp.Away(true)
	for range 6 {
		d.now = d.now.Add(25 * time.Hour)
		d.want(login.Unproved, read())
		d.want(login.Unproved, read())
	}
	if n := d.idp.Count("/metadata"); n != 7 {
		t.Errorf("the metadata were asked for %d times; want 7", n)
	}
	d.now = d.now.Add(25 * time.Hour)
	d.want(login.Away, read())
}
