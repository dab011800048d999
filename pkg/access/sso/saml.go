package sso

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Federation is what the document of a provider that speaks SAML says besides.
type Federation struct {
	// Metadata are the provider's, as XML; empty: they are at MetadataURL.
	Metadata    string
	MetadataURL string
	// EntityID is what the provider calls Slipway; empty: where the metadata of
	// Slipway are for it.
	EntityID string
	// Signs has Slipway sign its requests.
	Signs bool
	// Unasked takes what the provider sends without having been asked.
	Unasked bool
}

// NameID is the claim that is what a provider of SAML calls somebody.
const NameID = "NameID"

// MaxMetadata bounds a provider's metadata, in bytes.
const MaxMetadata = 256 << 10

// Metadata is what is used of a provider's metadata (SAML 2.0 Metadata, 2.4.3).
type Metadata struct {
	EntityID     string
	Login        string // where browsers are sent, by HTTP-Redirect
	Certificates []*x509.Certificate
}

const (
	nsMetadata = "urn:oasis:names:tc:SAML:2.0:metadata"
	byRedirect = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
)

type described struct {
	XMLName   xml.Name
	EntityID  string `xml:"entityID,attr"`
	Providers []struct {
		Keys []struct {
			Use          string   `xml:"use,attr"`
			Certificates []string `xml:"http://www.w3.org/2000/09/xmldsig# KeyInfo>X509Data>X509Certificate"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:metadata KeyDescriptor"`
		Services []struct {
			Binding  string `xml:"Binding,attr"`
			Location string `xml:"Location,attr"`
		} `xml:"urn:oasis:names:tc:SAML:2.0:metadata SingleSignOnService"`
	} `xml:"urn:oasis:names:tc:SAML:2.0:metadata IDPSSODescriptor"`
}

// ReadMetadata reads a provider's metadata.
func ReadMetadata(text []byte) (Metadata, error) {
	if len(text) > MaxMetadata {
		return Metadata{}, fmt.Errorf("found metadata of %d bytes; want at most %d", len(text), MaxMetadata)
	}
	if err := PlainXML(text); err != nil {
		return Metadata{}, fmt.Errorf("the metadata: %w", err)
	}
	var d described
	if err := xml.Unmarshal(text, &d); err != nil {
		return Metadata{}, fmt.Errorf("read the metadata: %w", err)
	}
	switch {
	case d.XMLName != xml.Name{Space: nsMetadata, Local: "EntityDescriptor"}:
		return Metadata{}, fmt.Errorf("the metadata begin with %q; want the EntityDescriptor of one identity provider", d.XMLName.Local)
	case d.EntityID == "":
		return Metadata{}, errors.New("the metadata have no entityID")
	case len(d.Providers) != 1:
		return Metadata{}, fmt.Errorf("the metadata have %d IDPSSODescriptor; want one", len(d.Providers))
	}
	p, m := d.Providers[0], Metadata{EntityID: d.EntityID}
	for _, s := range p.Services {
		if s.Binding == byRedirect && m.Login == "" {
			m.Login = s.Location
		}
	}
	if m.Login == "" {
		return Metadata{}, errors.New("the metadata have no SingleSignOnService by HTTP-Redirect")
	}
	if err := CheckAddress(m.Login); err != nil {
		return Metadata{}, fmt.Errorf("the metadata's SingleSignOnService is at %q; %w", m.Login, err)
	}
	for _, k := range p.Keys {
		if k.Use != "" && k.Use != "signing" {
			continue
		}
		for _, text := range k.Certificates {
			c, err := certificate(text)
			if err != nil {
				return Metadata{}, fmt.Errorf("a certificate of the metadata: %w", err)
			}
			m.Certificates = append(m.Certificates, c)
		}
	}
	if len(m.Certificates) == 0 {
		return Metadata{}, errors.New("the metadata have no certificate for signing")
	}
	return m, nil
}

func certificate(text string) (*x509.Certificate, error) {
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, fmt.Errorf("decode it: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return c, nil
}

// maxDepth bounds how deep elements stand in each other: what people's tools
// write has some twelve.
const maxDepth = 64

// PlainXML refuses what no provider writes and parsers stumble over: document
// type declarations, with which a text can be grown, processing instructions, and
// elements that stand very deep.
func PlainXML(text []byte) error {
	decoder := xml.NewDecoder(strings.NewReader(string(text)))
	decoder.Entity = map[string]string{}
	for depth, roots := 0, 0; ; {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read XML: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return errors.New("found a document type declaration, which isn't taken")
		case xml.ProcInst:
			if t.Target != "xml" {
				return errors.New("found a processing instruction, which isn't taken")
			}
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			if depth++; roots > 1 {
				return errors.New("found something after the end of the document")
			}
			if depth > maxDepth {
				return fmt.Errorf("found elements more than %d deep", maxDepth)
			}
			if len(t.Attr) > maxDepth {
				return fmt.Errorf("found an element with %d attributes; want at most %d", len(t.Attr), maxDepth)
			}
		case xml.EndElement:
			depth--
		}
	}
}

// Served says at which path a provider's answers come in that sends browsers.
func (p Provider) Served(end string) string {
	return "/v1/login/" + strings.ToLower(p.Type) + "/" + p.ID + "/" + end
}

// Sends says whether the provider is one that browsers are sent to.
func (p Provider) Sends() bool { return slices.Contains([]string{OIDC, SAML}, p.Type) }

// Entity is what a provider of SAML calls Slipway, where browsers reach that at base.
func (p Provider) Entity(base string) string {
	if p.Federation.EntityID != "" {
		return p.Federation.EntityID
	}
	return base + p.Served("metadata")
}
