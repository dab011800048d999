// Package saml asks identity providers that speak SAML 2.0 who somebody is: by a
// request in the address at the provider, and a signed response that the provider
// has the browser post.
//
// It checks what a provider says and knows no users: that is pkg/login's. A
// function that logs nobody in doesn't have it, nor its libraries. It ends no
// session at a provider.
package saml

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/egress"
	"github.com/slipway-cd/slipway/pkg/login"
)

const (
	// each bounds a request for a provider's metadata.
	each = 10 * time.Second
	// known is how long metadata count that were read from an address.
	known = 24 * time.Hour
	// again is after how long metadata are read again whose keys haven't made a
	// signature, and how long the last ones count at most while they can't be.
	again, stale = 5 * time.Minute, 7 * 24 * time.Hour
	// skew is how far a provider's clock may be off.
	skew = 90 * time.Second
	// protocol is what elements of requests and responses are in, assertion those of
	// assertions, and signature those of signatures.
	protocol  = "urn:oasis:names:tc:SAML:2.0:protocol"
	assertion = "urn:oasis:names:tc:SAML:2.0:assertion"
	signature = "http://www.w3.org/2000/09/xmldsig#"
	entity    = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity"
	transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
	success   = "urn:oasis:names:tc:SAML:2.0:status:Success"
	bearer    = "urn:oasis:names:tc:SAML:2.0:cm:bearer" //nolint:gosec // it is a method's name
)

// Client asks providers. It is for many goroutines.
type Client struct {
	http *http.Client
	now  func() time.Time

	mu        sync.Mutex
	providers map[string]remembered // by the address of their metadata
}

type remembered struct {
	sso.Metadata

	read  time.Time
	tried time.Time // when they were asked for last, whether or not they could be read
	until time.Time // then they are read again
}

// New makes a Client, which reaches what users may have it reach (pkg/egress).
func New(inside bool, now func() time.Time) *Client {
	return &Client{http: egress.Client(inside, each), now: now, providers: map[string]remembered{}}
}

// metadata are what a provider says of itself: in its document, or at an address
// that is read once a day.
func (c *Client) metadata(ctx context.Context, p sso.Provider) (sso.Metadata, error) {
	at := p.Federation.MetadataURL
	if at == "" {
		m, err := sso.ReadMetadata([]byte(p.Federation.Metadata))
		if err != nil {
			return m, login.Refuse(login.Broken, err)
		}
		return m, nil
	}
	c.mu.Lock()
	found := c.providers[at]
	c.mu.Unlock()
	if c.now().Before(found.until) {
		return found.Metadata, nil
	}
	m, err := c.refresh(ctx, at)
	if err != nil && !found.read.IsZero() && c.now().Before(found.read.Add(stale)) {
		// The provider may be fine although its metadata can't be read. Nobody asks
		// for them at each login meanwhile.
		c.keep(at, remembered{found.Metadata, found.read, c.now(), c.now().Add(again)})
		return found.Metadata, nil
	}
	return m, err
}

// refresh reads metadata at an address, and keeps them.
func (c *Client) refresh(ctx context.Context, at string) (sso.Metadata, error) {
	text, err := c.read(ctx, at)
	if err != nil {
		return sso.Metadata{}, login.Refuse(login.Away, fmt.Errorf("read the metadata at %s: %w", at, err))
	}
	m, err := sso.ReadMetadata(text)
	if err != nil {
		return m, login.Refuse(login.Broken, fmt.Errorf("the metadata at %s: %w", at, err))
	}
	c.keep(at, remembered{m, c.now(), c.now(), c.now().Add(known)})
	return m, nil
}

func (c *Client) keep(at string, m remembered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.providers) >= 100 {
		clear(c.providers)
	}
	c.providers[at] = m
}

// newer reads metadata at an address again whose keys haven't made a signature: the
// provider may have others by now. What was asked for just now isn't.
func (c *Client) newer(ctx context.Context, p sso.Provider) (sso.Metadata, bool) {
	at := p.Federation.MetadataURL
	c.mu.Lock()
	found := c.providers[at]
	c.mu.Unlock()
	if at == "" || c.now().Before(found.tried.Add(again)) {
		return sso.Metadata{}, false
	}
	m, err := c.refresh(ctx, at)
	if err != nil {
		c.keep(at, remembered{found.Metadata, found.read, c.now(), found.until}) // it isn't asked each time that somebody posts something
	}
	return m, err == nil
}

func (c *Client) read(ctx context.Context, at string) ([]byte, error) {
	if err := sso.CheckAddress(at); err != nil {
		return nil, err //nolint:wrapcheck // the caller says where
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, sso.MaxMetadata+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return text, nil
}

// asking begins the identifier of each request, which a digit may not; the nonce of
// the login is the rest.
const asking = "_"

// Begin is the address at the provider where a login begins.
func (c *Client) Begin(ctx context.Context, p sso.Provider, base string, keys login.Pairs, a login.Attempt) (string, error) {
	m, err := c.metadata(ctx, p)
	if err != nil {
		return "", err
	}
	request := saml.AuthnRequest{
		ID: asking + a.Nonce, Version: "2.0", IssueInstant: c.now().UTC(), Destination: m.Login,
		Issuer:                      &saml.Issuer{Format: entity, Value: p.Entity(base)},
		AssertionConsumerServiceURL: base + p.Served("acs"), ProtocolBinding: saml.HTTPPostBinding,
	}
	var as saml.ServiceProvider
	if p.Federation.Signs {
		pairs, err := keys(ctx)
		if err != nil {
			return "", err
		}
		as = saml.ServiceProvider{Key: pairs[0].Key, Certificate: pairs[0].Certificate, SignatureMethod: dsig.RSASHA256SignatureMethod}
	}
	at, err := request.Redirect(a.State, &as)
	if err != nil {
		return "", fmt.Errorf("write a request to the provider %s: %w", p.ID, err)
	}
	return at.String(), nil
}

// Describe is what the provider's side is told of Slipway, as XML.
func (c *Client) Describe(ctx context.Context, p sso.Provider, base string, keys login.Pairs) ([]byte, error) {
	signs, yes := p.Federation.Signs, true
	pairs, err := keys(ctx)
	if err != nil {
		return nil, err
	}
	var published []saml.KeyDescriptor
	for _, pair := range pairs {
		if !pair.Past {
			// For signing and for encryption: the next one is told of before it signs.
			published = append(published, saml.KeyDescriptor{
				KeyInfo: saml.KeyInfo{X509Data: saml.X509Data{X509Certificates: []saml.X509Certificate{{Data: base64.StdEncoding.EncodeToString(pair.Certificate.Raw)}}}},
				EncryptionMethods: []saml.EncryptionMethod{
					{Algorithm: encryption11 + "aes256-gcm"}, {Algorithm: encryption + "aes256-cbc"}, {Algorithm: encryption + "rsa-oaep-mgf1p"},
				},
			})
		}
	}
	text, err := xml.MarshalIndent(saml.EntityDescriptor{
		EntityID: p.Entity(base), ValidUntil: c.now().Add(7 * known).UTC(),
		SPSSODescriptors: []saml.SPSSODescriptor{{
			SSODescriptor:       saml.SSODescriptor{RoleDescriptor: saml.RoleDescriptor{ProtocolSupportEnumeration: protocol, KeyDescriptors: published}},
			AuthnRequestsSigned: &signs, WantAssertionsSigned: &yes,
			AssertionConsumerServices: []saml.IndexedEndpoint{{Binding: saml.HTTPPostBinding, Location: base + p.Served("acs"), Index: 1, IsDefault: &yes}},
		}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the metadata for the provider %s: %w", p.ID, err)
	}
	return append([]byte(xml.Header), text...), nil
}

// values are those of an attribute.
func values(of []saml.AttributeValue) []any {
	var all []any
	for _, v := range of {
		text := v.Value
		if v.NameID != nil && strings.TrimSpace(text) == "" {
			text = v.NameID.Value
		}
		all = append(all, strings.TrimSpace(text))
	}
	return all
}
