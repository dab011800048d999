package samlidp

import (
	"crypto/x509"
	"encoding/base64"

	"github.com/beevik/etree"
	"github.com/crewjam/saml/xmlenc"
)

// Encrypt has the provider encrypt assertions for whom it trusts (Trust), by the first
// certificate of that one's metadata.
func (p *Provider) Encrypt() {
	p.tb.Helper()
	data := p.trusts.SPSSODescriptors[0].KeyDescriptors[0].KeyInfo.X509Data.X509Certificates[0].Data
	to := must(x509.ParseCertificate(must(base64.StdEncoding.DecodeString(data))(p.tb)))(p.tb)
	p.Forge(func(text string) string {
		doc := etree.NewDocument()
		if err := doc.ReadFromString(text); err != nil {
			p.tb.Error(err)
			return text
		}
		asserts := doc.Root().FindElement("./Assertion")
		at, inner := asserts.Index(), etree.NewDocument()
		inner.SetRoot(asserts.Copy())
		by := xmlenc.OAEP()
		by.DigestMethod = &xmlenc.SHA1
		holder := etree.NewElement("saml:EncryptedAssertion")
		holder.CreateAttr("xmlns:saml", "urn:oasis:names:tc:SAML:2.0:assertion")
		holder.AddChild(must(by.Encrypt(to, must(inner.WriteToBytes())(p.tb), nil))(p.tb))
		doc.Root().RemoveChild(asserts)
		doc.Root().InsertChildAt(at, holder)
		return must(doc.WriteToString())(p.tb)
	})
}
