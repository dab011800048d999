package saml_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beevik/etree"
	crewjam "github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/slipway-cd/slipway/internal/testservers/samlidp"
	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/saml"
)

const (
	base   = "https://slipway.example.com"
	acs    = base + "/v1/login/saml/corp/acs"
	entity = base + "/v1/login/saml/corp/metadata"
)

// desk is a client and a provider.
type desk struct {
	*testing.T
	idp    *samlidp.Provider
	keys   []login.Pair // of Slipway
	client *saml.Client
	now    time.Time
}

func setup(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, idp: samlidp.New(t), now: time.Now()}
	d.client = saml.New(true, func() time.Time { return d.now })
	d.idp.At(func() time.Time { return d.now })
	d.idp.Person("ada@example.com", samlidp.Attributes{"mail": {"ada@example.com"}, "groups": {"devs", "ops"}})
	return d
}

// provider is the document's, with the metadata in it.
func (d *desk) provider() sso.Provider {
	return sso.Provider{
		ID: "corp", Type: sso.SAML, EmailClaim: "mail", NameClaim: "displayName", GroupsClaim: "groups",
		Federation: sso.Federation{Metadata: d.idp.Metadata()},
	}
}

func (d *desk) pairs(context.Context) ([]login.Pair, error) { return d.keys, nil }

func (d *desk) read() (login.Asserted, error) {
	d.Helper()
	return d.client.Read(d.Context(), d.provider(), base, d.pairs, d.idp.Respond("_nonce", acs, entity))
}

func (d *desk) want(f login.Failure, err error) {
	d.Helper()
	var r *login.Refusal
	if !errors.As(err, &r) || r.Failure != f {
		d.Errorf("got %v; want %s", err, f)
	}
}

func TestAProviderSaysWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*samlidp.Answer){
		"the assertion is signed": nil,
		"the response is signed":  func(a *samlidp.Answer) { a.SignAssertion, a.SignResponse = false, true },
		"both are signed":         func(a *samlidp.Answer) { a.SignResponse = true },
		"by SHA-512":              func(a *samlidp.Answer) { a.Method = dsig.ECDSASHA512SignatureMethod },
		"the response says little": func(a *samlidp.Answer) {
			a.Response.Destination, a.Response.Issuer = "", nil
		},
	} {
		d := setup(t)
		d.idp.Bend(bend)
		got, err := d.read()
		if err != nil || got.Subject != "ada@example.com" || got.Asked != "nonce" || got.ID == "" || got.Until.Before(d.now) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if fmt.Sprintf("%v %v %v", got.All["mail"], got.All["groups"], got.All["amr"]) != "ada@example.com [devs ops] [urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport]" {
			t.Errorf("%s: it says %v", name, got.All)
		}
	}
}

// saml_unsigned_refused, saml_clock_skew_91s_refused and the like
func TestResponsesThatProveNothing(t *testing.T) {
	t.Parallel()
	type answer = samlidp.Answer
	confirmed := func(a *answer) *crewjam.SubjectConfirmationData {
		return a.Assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData
	}
	for name, bend := range map[string]func(d *desk, a *answer){
		"unsigned": func(_ *desk, a *answer) { a.SignAssertion = false },
		"SHA-1":    func(_ *desk, a *answer) { a.Method = dsig.ECDSASHA1SignatureMethod },
		"another audience": func(_ *desk, a *answer) {
			a.Assertion.Conditions.AudienceRestrictions[0].Audience.Value = "https://other"
		},
		"no audience": func(_ *desk, a *answer) { a.Assertion.Conditions.AudienceRestrictions = nil },
		"two audiences": func(_ *desk, a *answer) {
			a.Assertion.Conditions.AudienceRestrictions = append(a.Assertion.Conditions.AudienceRestrictions, crewjam.AudienceRestriction{Audience: crewjam.Audience{Value: "https://other"}})
		},
		"another recipient":    func(_ *desk, a *answer) { confirmed(a).Recipient = "https://other/acs" },
		"no recipient":         func(_ *desk, a *answer) { confirmed(a).Recipient = "" },
		"another destination":  func(_ *desk, a *answer) { a.Response.Destination = "https://other/acs" },
		"another request":      func(_ *desk, a *answer) { confirmed(a).InResponseTo = "_other" },
		"no request":           func(_ *desk, a *answer) { confirmed(a).InResponseTo = "" },
		"a foreign request":    func(_ *desk, a *answer) { confirmed(a).InResponseTo, a.Response.InResponseTo = "id-1", "id-1" },
		"another issuer":       func(_ *desk, a *answer) { a.Assertion.Issuer.Value = "https://evil.example" },
		"a response of others": func(_ *desk, a *answer) { a.Response.Issuer.Value = "https://evil.example" },
		"no confirmation":      func(_ *desk, a *answer) { a.Assertion.Subject.SubjectConfirmations = nil },
		"not for its bearer": func(_ *desk, a *answer) {
			a.Assertion.Subject.SubjectConfirmations[0].Method = "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"
		},
		"shown 91 s too late": func(d *desk, a *answer) { confirmed(a).NotOnOrAfter = d.now.Add(-90 * time.Second) },
		"shown for ever":      func(_ *desk, a *answer) { confirmed(a).NotOnOrAfter = time.Time{} },
		"ended 90 s ago":      func(d *desk, a *answer) { a.Assertion.Conditions.NotOnOrAfter = d.now.Add(-90 * time.Second) },
		"begins in 91 s":      func(d *desk, a *answer) { a.Assertion.Conditions.NotBefore = d.now.Add(91 * time.Second) },
		"made in 91 s":        func(d *desk, a *answer) { a.Assertion.IssueInstant = d.now.Add(91 * time.Second) },
		"no conditions":       func(_ *desk, a *answer) { a.Assertion.Conditions = nil },
		"nobody":              func(_ *desk, a *answer) { a.Assertion.Subject.NameID.Value = " " },
		"no subject":          func(_ *desk, a *answer) { a.Assertion.Subject = nil },
		"nobody logged in":    func(_ *desk, a *answer) { a.Assertion.AuthnStatements = nil },
		"no assertion":        func(_ *desk, a *answer) { a.Assertion = nil },
		"version 1.1":         func(_ *desk, a *answer) { a.Response.Version = "1.1" },
		"an ended session": func(d *desk, a *answer) {
			ended := d.now.Add(-90 * time.Second)
			a.Assertion.AuthnStatements[0].SessionNotOnOrAfter = &ended
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.idp.Bend(func(a *answer) { bend(d, a) })
			_, err := d.read()
			d.want(login.Unproved, err)
		})
	}
	for name, c := range map[string]struct {
		bend func(a *answer)
		why  login.Failure
	}{
		"the provider says no": {func(a *answer) { a.Response.Status.StatusCode.Value = "urn:oasis:names:tc:SAML:2.0:status:Responder" }, login.Denied},
		"a name for one login": {func(a *answer) {
			a.Assertion.Subject.NameID.Format = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
		}, login.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.idp.Bend(c.bend)
			_, err := d.read()
			d.want(c.why, err)
		})
	}
}

func TestResponsesAtTheEdge(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(d *desk, a *samlidp.Answer){
		"ended 89 s ago": func(d *desk, a *samlidp.Answer) { a.Assertion.Conditions.NotOnOrAfter = d.now.Add(-89 * time.Second) },
		"begins in 89 s": func(d *desk, a *samlidp.Answer) { a.Assertion.Conditions.NotBefore = d.now.Add(89 * time.Second) },
		"shown 89 s late": func(d *desk, a *samlidp.Answer) {
			a.Assertion.Subject.SubjectConfirmations[0].SubjectConfirmationData.NotOnOrAfter = d.now.Add(-89 * time.Second)
		},
		"confirmed twice": func(_ *desk, a *samlidp.Answer) {
			a.Assertion.Subject.SubjectConfirmations = slices.Insert(a.Assertion.Subject.SubjectConfirmations, 0, crewjam.SubjectConfirmation{Method: "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"})
		},
	} {
		d := setup(t)
		d.idp.Bend(func(a *samlidp.Answer) { bend(d, a) })
		if _, err := d.read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tree is a response that the provider has signed, to be put together in another
// way.
type tree struct {
	root, asserts, signature, evil *etree.Element
}

func parse(tb testing.TB, text string) *tree {
	tb.Helper()
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		tb.Fatal(err)
	}
	t := &tree{root: doc.Root()}
	t.asserts = t.root.FindElement("./Assertion")
	t.signature = t.root.FindElement(".//Signature")
	t.evil = t.asserts.Copy()
	t.evil.RemoveAttr("ID")
	t.evil.CreateAttr("ID", "id-evil")
	t.evil.FindElement(".//NameID").SetText("root@example.com")
	if own := t.evil.FindElement("./Signature"); own != nil {
		t.evil.RemoveChild(own)
	}
	return t
}

func (t *tree) object(holds *etree.Element) {
	object := etree.NewElement("ds:Object")
	object.AddChild(holds)
	t.signature.AddChild(object)
}

// evilResponse is a copy of the response with the other assertion, and no signature.
func (t *tree) evilResponse() *etree.Element {
	other := t.root.Copy()
	other.RemoveAttr("ID")
	other.CreateAttr("ID", "id-outer")
	for _, gone := range []string{"./Signature", "./Assertion"} {
		if el := other.FindElement(gone); el != nil {
			other.RemoveChild(el)
		}
	}
	other.AddChild(t.evil)
	return other
}

// saml_wrapped_signature_refused: the eight ways of "On Breaking SAML: Be Whoever
// You Want to Be", and what else has another part read than the one that is signed.
func TestWrappedSignatures(t *testing.T) {
	t.Parallel()
	take := func(el *etree.Element) *etree.Element {
		el.Parent().RemoveChild(el)
		return el
	}
	for name, c := range map[string]struct {
		response bool // is signed, not the assertion
		wrap     func(t *tree) *etree.Element
	}{
		"XSW1": {true, func(t *tree) *etree.Element {
			signature := take(t.signature)
			other := t.evilResponse()
			t.object(t.root)
			other.InsertChildAt(1, signature)
			return other
		}},
		"XSW2": {true, func(t *tree) *etree.Element {
			signature := take(t.signature)
			other := t.evilResponse()
			other.InsertChildAt(1, t.root)
			other.InsertChildAt(2, signature)
			return other
		}},
		"XSW3": {false, func(t *tree) *etree.Element {
			t.root.InsertChildAt(t.asserts.Index(), t.evil)
			return t.root
		}},
		"XSW4": {false, func(t *tree) *etree.Element {
			t.evil.AddChild(take(t.asserts))
			t.root.AddChild(t.evil)
			return t.root
		}},
		"XSW5": {false, func(t *tree) *etree.Element {
			t.evil.InsertChildAt(1, take(t.signature))
			t.root.InsertChildAt(t.asserts.Index(), t.evil)
			return t.root
		}},
		"XSW6": {false, func(t *tree) *etree.Element {
			signature := take(t.signature)
			t.object(take(t.asserts))
			t.evil.InsertChildAt(1, signature)
			t.root.AddChild(t.evil)
			return t.root
		}},
		"XSW7": {false, func(t *tree) *etree.Element {
			extensions := etree.NewElement("samlp:Extensions")
			extensions.AddChild(t.evil)
			t.root.InsertChildAt(t.asserts.Index(), extensions)
			return t.root
		}},
		"XSW8": {false, func(t *tree) *etree.Element {
			signature := take(t.signature)
			t.object(take(t.asserts))
			t.evil.InsertChildAt(1, signature)
			t.root.AddChild(t.evil)
			return t.root
		}},
		"with the identifier of the signed one": {false, func(t *tree) *etree.Element {
			t.evil.CreateAttr("ID", t.asserts.SelectAttrValue("ID", ""))
			t.evil.InsertChildAt(1, t.signature.Copy())
			t.root.InsertChildAt(t.asserts.Index(), t.evil)
			return t.root
		}},
		"with a signature of everything": {false, func(t *tree) *etree.Element {
			t.signature.FindElement(".//Reference").CreateAttr("URI", "")
			return t.root
		}},
		"with a word put in": {false, func(t *tree) *etree.Element {
			t.asserts.FindElement(".//NameID").SetText("root@example.com")
			return t.root
		}},
		"with a second signature": {false, func(t *tree) *etree.Element {
			t.asserts.InsertChildAt(1, t.signature.Copy())
			return t.root
		}},
		"in another namespace": {false, func(t *tree) *etree.Element {
			other := t.evil.Copy()
			other.Space = "samlp"
			t.root.InsertChildAt(t.asserts.Index(), other)
			return t.root
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.idp.Bend(func(a *samlidp.Answer) { a.SignAssertion, a.SignResponse = !c.response, c.response })
			p := d.provider()
			d.idp.Forge(func(text string) string {
				if got, err := d.client.Read(t.Context(), p, base, d.pairs, base64.StdEncoding.EncodeToString([]byte(text))); err != nil || got.Subject != "ada@example.com" {
					t.Errorf("before it is put together in another way: %+v, %v", got, err)
				}
				doc := etree.NewDocument()
				doc.SetRoot(c.wrap(parse(t, text)))
				forged, err := doc.WriteToString()
				if err != nil || forged == text {
					t.Fatalf("it wasn't put together in another way: %v", err)
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

// What stands around a comment is one name: nobody is whoever the half of their
// name is.
func TestACommentInANameHidesNothing(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.idp.Person("ada@example.com.evil.example", samlidp.Attributes{"mail": {"ada@example.com.evil.example"}})
	d.idp.Forge(func(text string) string {
		return strings.ReplaceAll(text, "ada@example.com.evil", "ada@example.com<!-- -->.evil")
	})
	got, err := d.read()
	if err != nil || got.Subject != "ada@example.com.evil.example" || got.All["mail"] != "ada@example.com.evil.example" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTextsThatArentRead(t *testing.T) {
	t.Parallel()
	in := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	whole := func(f func(text string) string) func(d *desk) string {
		return func(d *desk) string {
			d.idp.Forge(f)
			return d.idp.Respond("_nonce", acs, entity)
		}
	}
	for name, text := range map[string]func(d *desk) string{
		"nothing":    func(*desk) string { return "" },
		"no base64":  func(*desk) string { return "%%%" },
		"no XML":     func(*desk) string { return in("x") },
		"no root":    func(*desk) string { return in("<!-- -->") },
		"other XML":  func(*desk) string { return in(`<a xmlns="urn:oasis:names:tc:SAML:2.0:protocol"/>`) },
		"a DTD":      whole(func(s string) string { return `<!DOCTYPE x [<!ENTITY a "b">]>` + s }),
		"a request":  whole(func(s string) string { return strings.ReplaceAll(s, "samlp:Response", "samlp:AuthnRequest") }),
		"a page":     whole(func(s string) string { return `<?xml-stylesheet href="x"?>` + s }),
		"large":      whole(func(s string) string { return s + "<!--" + strings.Repeat("x", saml.MaxResponse) + "-->" }),
		"very large": func(*desk) string { return strings.Repeat("A", 4*saml.MaxResponse) },
		"deep": whole(func(s string) string {
			return strings.Replace(s, "<samlp:Status>", strings.Repeat("<a>", 100)+strings.Repeat("</a>", 100)+"<samlp:Status>", 1)
		}),
		"two roots": whole(func(s string) string { return s + s }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			_, err := d.client.Read(t.Context(), d.provider(), base, d.pairs, text(d))
			d.want(login.Unproved, err)
		})
	}
	d := setup(t)
	d.idp.Forge(func(s string) string {
		return strings.Replace(s, "<saml:Assertion", "<saml:EncryptedAssertion/><saml:Assertion", 1)
	})
	_, err := d.read()
	d.want(login.Unproved, err)
	d.idp.Forge(func(s string) string { return strings.Replace(s, "<saml:NameID", "<saml:EncryptedID/><saml:NameID", 1) })
	_, err = d.read()
	d.want(login.Broken, err)
	d.idp.Forge(nil) // lines may be broken
	text := d.idp.Respond("_nonce", acs, entity)
	if _, err := d.client.Read(t.Context(), d.provider(), base, d.pairs, text[:76]+"\r\n"+text[76:]); err != nil {
		t.Error(err)
	}
}

// Its metadata say by which keys a provider signs, and are read again each day.
func TestKeysAreThoseOfTheMetadata(t *testing.T) {
	t.Parallel()
	d := setup(t)
	p := d.provider()
	p.Federation = sso.Federation{MetadataURL: d.idp.URL + "/metadata"}
	read := func() error {
		t.Helper()
		_, err := d.client.Read(t.Context(), p, base, d.pairs, d.idp.Respond("_nonce", acs, entity))
		return err
	}
	for range 3 {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.idp.Count("/metadata"); n != 1 {
		t.Errorf("the metadata were asked for %d times", n)
	}
	d.idp.Rotate()
	for range 3 { // whoever posts nonsense doesn't have it asked each time
		d.want(login.Unproved, read())
	}
	d.now = d.now.Add(5 * time.Minute)
	if err := read(); err != nil || d.idp.Count("/metadata") != 2 {
		t.Errorf("once the metadata may be read again: %v; asked %d times", err, d.idp.Count("/metadata"))
	}
	d.now = d.now.Add(24 * time.Hour)
	if err := read(); err != nil || d.idp.Count("/metadata") != 3 {
		t.Errorf("a day later: %v; asked %d times", err, d.idp.Count("/metadata"))
	}
	d.now = d.now.Add(240 * time.Hour) // the certificate has ended
	d.want(login.Unproved, read())
}

func TestWhereMetadataAreRead(t *testing.T) {
	t.Parallel()
	d := setup(t)
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	moved := httptest.NewServer(http.RedirectHandler(d.idp.URL+"/metadata", http.StatusFound))
	t.Cleanup(moved.Close)
	for name, c := range map[string]struct {
		at  string
		why login.Failure
	}{
		"elsewhere":       {moved.URL, login.Away},
		"nowhere":         {answers(404, d.idp.Metadata()), login.Away},
		"plain HTTP":      {"http://10.0.0.1/metadata", login.Away},
		"of the cloud":    {"https://169.254.169.254/metadata", login.Away},
		"not XML":         {answers(200, "x"), login.Broken},
		"large":           {answers(200, d.idp.Metadata()+strings.Repeat(" ", sso.MaxMetadata)), login.Broken},
		"a plain login":   {answers(200, strings.ReplaceAll(d.idp.Metadata(), d.idp.URL+"/sso", "http://10.0.0.1/sso")), login.Broken},
		"no key":          {answers(200, strings.ReplaceAll(d.idp.Metadata(), `use="signing"`, `use="encryption"`)), login.Broken},
		"several of them": {answers(200, `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"/>`), login.Broken},
	} {
		p := d.provider()
		p.Federation = sso.Federation{MetadataURL: c.at}
		_, err := d.client.Begin(t.Context(), p, base, d.pairs, login.Attempt{State: "state", Nonce: "nonce"})
		var r *login.Refusal
		if !errors.As(err, &r) || r.Failure != c.why {
			t.Errorf("%s: got %v; want %s", name, err, c.why)
		}
	}
}

func TestWhatAnAssertionSays(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.idp.Person(" ada ", samlidp.Attributes{"mail": {"ada@example.com"}, "groups": {"devs, ops ,"}, "amr": {"mfa"}, sso.NameID: {"root"}})
	d.idp.By("https://refeds.org/profile/mfa")
	d.idp.Bend(func(a *samlidp.Answer) {
		said := &a.Assertion.AttributeStatements[0].Attributes
		for _, group := range []string{"a", "b"} {
			*said = append(*said, crewjam.Attribute{Name: "urn:oid:1", FriendlyName: "role", Values: []crewjam.AttributeValue{{Type: "xs:string", Value: group}}})
		}
	})
	got, err := d.read()
	if said := fmt.Sprintf("%v %v %v %v %v", got.All["groups"], got.All["amr"], got.All[sso.NameID], got.All["role"], got.All["urn:oid:1"]); err != nil || said != "[devs ops] [https://refeds.org/profile/mfa] ada [a b] [a b]" {
		t.Errorf("it says %s, %v", said, err)
	}
	d.idp.Person("ada", samlidp.Attributes{"groups": {"CN=devs,DC=example"}})
	if got, err := d.read(); err != nil || fmt.Sprint(got.All["groups"]) != "[CN=devs,DC=example]" {
		t.Errorf("it says %v, %v", got.All, err)
	}
}

// FuzzResponse: whatever is posted, nobody is named whom the provider didn't sign for.
func FuzzResponse(f *testing.F) {
	idp := samlidp.New(f)
	now := time.Now()
	idp.At(func() time.Time { return now })
	idp.Person("ada@example.com", samlidp.Attributes{"groups": {"devs"}})
	p := sso.Provider{ID: "corp", Type: sso.SAML, EmailClaim: "mail", GroupsClaim: "groups", Federation: sso.Federation{Metadata: idp.Metadata()}}
	client := saml.New(true, func() time.Time { return now })
	for _, both := range []bool{false, true} {
		idp.Bend(func(a *samlidp.Answer) { a.SignResponse, a.SignAssertion = both, !both })
		text, err := base64.StdEncoding.DecodeString(idp.Respond("_nonce", acs, entity))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		wrapped := parse(f, string(text))
		wrapped.root.AddChild(wrapped.evil)
		doc := etree.NewDocument()
		doc.SetRoot(wrapped.root)
		forged, err := doc.WriteToBytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(forged)
	}
	f.Add([]byte(`<!DOCTYPE x><a/>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := client.Read(t.Context(), p, base, nil, base64.StdEncoding.EncodeToString(text))
		if err == nil && (got.Subject != "ada@example.com" || got.Asked != "nonce" || fmt.Sprint(got.All["groups"]) != "[devs]") {
			t.Errorf("it tells of %+v", got)
		}
	})
}
