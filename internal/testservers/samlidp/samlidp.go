// Package samlidp is an identity provider on loopback that speaks SAML 2.0. It lets
// everybody in whom the test names, and misbehaves as the test says.
package samlidp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"html/template"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/slipway-cd/slipway/internal/testservers/certified"
)

// Attributes are those of a person, each with its values.
type Attributes = map[string][]string

// Answer is what the provider is about to say.
type Answer struct {
	Assertion *saml.Assertion
	Response  *saml.Response
	// Sign says what is signed.
	SignAssertion, SignResponse bool
	Method                      string // of the signature
}

// Provider is the identity provider. What it does is set before it is asked.
type Provider struct {
	URL string
	tb  testing.TB
	key crypto.Signer
	own *x509.Certificate

	mu         sync.Mutex
	now        func() time.Time
	trusts     *saml.EntityDescriptor
	name       saml.NameID
	attributes Attributes
	class      string
	bend       func(*Answer)
	forge      func(string) string
	asked      map[string]int // requests by path
	away       bool
}

// New starts a provider.
func New(tb testing.TB) *Provider {
	tb.Helper()
	p, server := unstarted(tb)
	server.Start()
	p.URL = server.URL
	return p
}

// NewAt starts one that others reach by TLS at an address.
func NewAt(tb testing.TB, at *certified.Address) *Provider {
	tb.Helper()
	p, server := unstarted(tb)
	p.URL = at.Start(server)
	return p
}

func unstarted(tb testing.TB) (*Provider, *httptest.Server) {
	tb.Helper()
	p := &Provider{tb: tb, now: time.Now, asked: map[string]int{}}
	p.key, p.own = Key(tb)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metadata", p.describe)
	mux.HandleFunc("GET /sso", p.sso)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.set(func() { p.asked[r.URL.Path]++ })
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	return p, server
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	if away {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte(p.Metadata()))
}

// Away says whether nobody gets the metadata.
func (p *Provider) Away(away bool) { p.set(func() { p.away = away }) }

// Key makes a key and its certificate.
func Key(tb testing.TB) (crypto.Signer, *x509.Certificate) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "idp"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return key, made
}

func (p *Provider) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// At gives the provider another clock.
func (p *Provider) At(now func() time.Time) { p.set(func() { p.now = now }) }

// Person says who is logged in.
func (p *Provider) Person(name string, a Attributes) {
	p.set(func() {
		p.name, p.attributes = saml.NameID{Format: "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified", Value: name}, a
	})
}

// By says by which class of authentication.
func (p *Provider) By(class string) { p.set(func() { p.class = class }) }

// Bend changes what is said before it is signed; nil: not.
func (p *Provider) Bend(f func(*Answer)) { p.set(func() { p.bend = f }) }

// Forge changes the text of a response; nil: not.
func (p *Provider) Forge(f func(string) string) { p.set(func() { p.forge = f }) }

// Trust is told of whom the provider answers.
func (p *Provider) Trust(metadata []byte) {
	p.tb.Helper()
	var m saml.EntityDescriptor
	if err := xml.Unmarshal(metadata, &m); err != nil {
		p.tb.Fatal(err)
	}
	p.set(func() { p.trusts = &m })
}

// Count says how often a path was asked for.
func (p *Provider) Count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Rotate gives the provider another key.
func (p *Provider) Rotate() {
	key, own := Key(p.tb)
	p.set(func() { p.key, p.own = key, own })
}

// Metadata are the provider's.
func (p *Provider) Metadata() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(must(xml.Marshal(p.idp().Metadata()))(p.tb))
}

func (p *Provider) at(path string) url.URL { return *must(url.Parse(p.URL + path))(p.tb) }

func (p *Provider) idp() *saml.IdentityProvider {
	return &saml.IdentityProvider{
		Key: p.key, Certificate: p.own, MetadataURL: p.at("/metadata"), SSOURL: p.at("/sso"), ServiceProviderProvider: knows{p},
	}
}

// knows is whom the provider answers.
type knows struct{ *Provider }

// GetServiceProvider gives it: whom the provider was told of, or who says at its own
// address who it is.
func (k knows) GetServiceProvider(r *http.Request, id string) (*saml.EntityDescriptor, error) {
	if k.trusts == nil {
		return described(r, id)
	}
	if k.trusts == nil || k.trusts.EntityID != id {
		return nil, os.ErrNotExist
	}
	return k.trusts, nil
}

func described(r *http.Request, at string) (*saml.EntityDescriptor, error) {
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodGet, at, nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", at, err)
	}
	resp, err := http.DefaultTransport.RoundTrip(asked)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", at, err)
	}
	defer resp.Body.Close()
	var m saml.EntityDescriptor
	if err := xml.NewDecoder(resp.Body).Decode(&m); err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	return &m, nil
}

func (p *Provider) sso(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	request, err := saml.NewIdpAuthnRequest(p.idp(), r)
	if err == nil {
		err = request.Validate()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	posts := map[string]string{"URL": request.ACSEndpoint.Location, "Response": p.respond(request.Request.ID, request.ACSEndpoint.Location, request.Request.Issuer.Value), "State": request.RelayState}
	page := template.Must(template.New("").Parse(`<!doctype html><title>IdP</title><form method="post" action="{{.URL}}"><input type="hidden" name="SAMLResponse" value="{{.Response}}"><input type="hidden" name="RelayState" value="{{.State}}"><button>Go on</button></form><script>document.forms[0].submit()</script>`))
	if err := page.Execute(w, posts); err != nil {
		p.tb.Error(err)
	}
}

// Unasked is a response that nobody asked for.
func (p *Provider) Unasked(acs, entity string) string { return p.Respond("", acs, entity) }

// Respond is a response to a request, in base64.
func (p *Provider) Respond(request, acs, entity string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.respond(request, acs, entity)
}

func (p *Provider) respond(request, acs, entity string) string {
	now, issuer := p.now().UTC(), p.URL+"/metadata"
	class := p.class
	if class == "" {
		class = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"
	}
	name := p.name
	a := &saml.Assertion{
		ID: id(), IssueInstant: now, Version: "2.0", Issuer: saml.Issuer{Value: issuer},
		Subject: &saml.Subject{NameID: &name, SubjectConfirmations: []saml.SubjectConfirmation{{
			Method:                  "urn:oasis:names:tc:SAML:2.0:cm:bearer",
			SubjectConfirmationData: &saml.SubjectConfirmationData{InResponseTo: request, NotOnOrAfter: now.Add(5 * time.Minute), Recipient: acs},
		}}},
		Conditions:      &saml.Conditions{NotBefore: now, NotOnOrAfter: now.Add(5 * time.Minute), AudienceRestrictions: []saml.AudienceRestriction{{Audience: saml.Audience{Value: entity}}}},
		AuthnStatements: []saml.AuthnStatement{{AuthnInstant: now, SessionIndex: "1", AuthnContext: saml.AuthnContext{AuthnContextClassRef: &saml.AuthnContextClassRef{Value: class}}}},
	}
	var said []saml.Attribute
	for name, values := range p.attributes {
		one := saml.Attribute{Name: name}
		for _, v := range values {
			one.Values = append(one.Values, saml.AttributeValue{Type: "xs:string", Value: v})
		}
		said = append(said, one)
	}
	a.AttributeStatements = []saml.AttributeStatement{{Attributes: said}}
	answer := &Answer{
		Assertion: a, SignAssertion: true, Method: dsig.ECDSASHA256SignatureMethod,
		Response: &saml.Response{
			ID: id(), InResponseTo: request, Version: "2.0", IssueInstant: now, Destination: acs, Issuer: &saml.Issuer{Value: issuer},
			Status: saml.Status{StatusCode: saml.StatusCode{Value: saml.StatusSuccess}},
		},
	}
	if p.bend != nil {
		p.bend(answer)
	}
	text := p.write(answer)
	if p.forge != nil {
		text = p.forge(text)
	}
	return base64.StdEncoding.EncodeToString([]byte(text))
}

func (p *Provider) write(a *Answer) string {
	if a.SignAssertion && a.Assertion != nil {
		a.Assertion.Signature = p.Sign(a.Assertion.Element(), a.Method)
	}
	a.Response.Assertion = a.Assertion
	if a.SignResponse {
		a.Response.Signature = p.Sign(a.Response.Element(), a.Method)
	}
	doc := etree.NewDocument()
	doc.SetRoot(a.Response.Element())
	return must(doc.WriteToString())(p.tb)
}

// Sign gives the signature of an element.
func (p *Provider) Sign(el *etree.Element, method string) *etree.Element {
	ctx := must(dsig.NewSigningContext(p.key, [][]byte{p.own.Raw}))(p.tb)
	ctx.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	if err := ctx.SetSignatureMethod(method); err != nil {
		p.tb.Error(err)
		return nil
	}
	signed := must(ctx.SignEnveloped(el))(p.tb)
	last, _ := signed.Child[len(signed.Child)-1].(*etree.Element)
	return last
}

func id() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // which never fails
	return "id-" + hex.EncodeToString(b)
}

// must gives what was made; what wasn't fails the test.
func must[T any](v T, err error) func(tb testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Error(err)
		}
		return v
	}
}
