package saml

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	xrv "github.com/mattermost/xml-roundtrip-validator"
	dsig "github.com/russellhaering/goxmldsig"
	"github.com/russellhaering/goxmldsig/etreeutils"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/login"
)

// MaxResponse bounds a response, in bytes.
const MaxResponse = 256 << 10

// Read gives what a response of the provider says, in base64 as browsers post it.
func (c *Client) Read(ctx context.Context, p sso.Provider, base string, keys login.Pairs, response string) (login.Asserted, error) {
	m, err := c.metadata(ctx, p)
	if err != nil {
		return login.Asserted{}, err
	}
	out, err := c.parse(ctx, p, m, base, keys, response)
	if errors.Is(err, errUnknownKey) {
		if next, ok := c.newer(ctx, p); ok {
			out, err = c.parse(ctx, p, next, base, keys, response)
		}
	}
	var refused *login.Refusal
	if err != nil && !errors.As(err, &refused) {
		err = login.Refuse(login.Unproved, fmt.Errorf("the response: %w", err))
	}
	return out, err
}

// parse reads and checks a response. It says nothing of anybody until the
// signature has been verified.
func (c *Client) parse(ctx context.Context, p sso.Provider, m sso.Metadata, base string, keys login.Pairs, response string) (login.Asserted, error) {
	text, err := decoded(response)
	if err != nil {
		return login.Asserted{}, err
	}
	f, err := formOf(text)
	if err != nil {
		return login.Asserted{}, err
	}
	acs := base + p.Served("acs")
	if err := f.answers(m, acs, c.now()); err != nil {
		return login.Asserted{}, err
	}
	verified, err := f.verify(ctx, m.Certificates, dsig.NewFakeClockAt(c.now()), keys)
	if err != nil {
		return login.Asserted{}, err
	}
	var a saml.Assertion
	if err := xml.Unmarshal(verified, &a); err != nil {
		return login.Asserted{}, fmt.Errorf("read the assertion: %w", err)
	}
	return c.judge(p, m, base, f.InResponseTo, a)
}

// decoded is the XML of a response.
func decoded(response string) ([]byte, error) {
	if base64.StdEncoding.DecodedLen(len(response)) > MaxResponse+MaxResponse/16 { // some break the lines
		return nil, fmt.Errorf("it is larger than %d bytes", MaxResponse)
	}
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(response), ""))
	if err != nil {
		return nil, fmt.Errorf("decode it: %w", err)
	}
	if len(text) > MaxResponse {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxResponse)
	}
	return text, nil
}

// form is a response of the one form that is taken: with one assertion, in one
// place, and signatures of nothing but these two. All known ways to have another
// part read than the one that is signed need a second one of something.
type form struct {
	saml.Response

	root, asserts *etree.Element
	sealed        *etree.Element // the EncryptedAssertion in the place of asserts
}

func formOf(text []byte) (form, error) {
	if err := sso.PlainXML(text); err != nil {
		return form{}, err //nolint:wrapcheck // the caller says of what
	}
	// What two parsers read differently isn't read.
	if err := xrv.Validate(bytes.NewReader(text)); err != nil {
		return form{}, fmt.Errorf("read XML: %w", err)
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(text); err != nil {
		return form{}, fmt.Errorf("read XML: %w", err)
	}
	f := form{root: doc.Root()}
	if f.root == nil || !is(f.root, protocol, "Response") {
		return form{}, errors.New("it isn't a Response")
	}
	if err := f.count(); err != nil {
		return form{}, err
	}
	// The assertion isn't read of this, but of what its signature covers.
	outer := f.root.Copy()
	for _, child := range outer.ChildElements() {
		if child.Tag == "Assertion" || child.Tag == "EncryptedAssertion" || child.Tag == "Signature" {
			outer.RemoveChild(child)
		}
	}
	said, err := written(outer)
	if err != nil {
		return form{}, err
	}
	if err := xml.Unmarshal(said, &f.Response); err != nil {
		return form{}, fmt.Errorf("read the Response: %w", err)
	}
	return f, nil
}

// count refuses every other form.
func (f *form) count() error {
	ids := map[string]bool{}
	var signed []*etree.Element
	for el := range elements(f.root) {
		for _, a := range el.Attr {
			if !strings.EqualFold(a.Key, "id") || a.Space == "xmlns" {
				continue
			}
			if ids[a.Value] {
				return errors.New("two elements have one identifier")
			}
			ids[a.Value] = true
		}
		switch el.Tag { // in whatever namespace it is
		case "EncryptedID":
			return login.Refuse(login.Broken, errors.New("the provider encrypts a name by itself, which isn't read; have it encrypt the assertion"))
		case "EncryptedAssertion":
			if f.sealed != nil || f.asserts != nil || el.Parent() != f.root || !is(el, assertion, "EncryptedAssertion") {
				return errors.New("it has an assertion in another place than the only one")
			}
			f.sealed = el
		case "Assertion":
			if f.sealed != nil || f.asserts != nil || el.Parent() != f.root || !is(el, assertion, "Assertion") {
				return errors.New("it has an assertion in another place than the only one")
			}
			f.asserts = el
		case "Response":
			if el != f.root {
				return errors.New("it has a second Response")
			}
		case "Signature":
			signed = append(signed, el)
		}
	}
	for _, el := range signed {
		if !is(el, signature, "Signature") || el.Parent() != f.root && el.Parent() != f.asserts {
			return errors.New("it has a signature in another place than the Response and its assertion")
		}
	}
	return nil
}

// elements are an element and all in it.
func elements(el *etree.Element) func(yield func(*etree.Element) bool) {
	return func(yield func(*etree.Element) bool) {
		var visit func(*etree.Element) bool
		visit = func(el *etree.Element) bool {
			return yield(el) && !slices.ContainsFunc(el.ChildElements(), func(child *etree.Element) bool { return !visit(child) })
		}
		visit(el)
	}
}

func is(el *etree.Element, space, tag string) bool {
	return el.Tag == tag && el.NamespaceURI() == space
}

// answers checks what a Response says besides its assertion. It needn't be signed,
// so all that it can do is to refuse.
func (f *form) answers(m sso.Metadata, acs string, now time.Time) error {
	switch {
	case f.Version != "2.0":
		return fmt.Errorf("its version is %.20q", f.Version)
	case f.Destination != "" && f.Destination != acs:
		return fmt.Errorf("it is for %.200q; want %s", f.Destination, acs)
	case f.Issuer != nil && strings.TrimSpace(f.Issuer.Value) != m.EntityID:
		return fmt.Errorf("it is of %.200q; want %s", f.Issuer.Value, m.EntityID)
	case f.IssueInstant.After(now.Add(skew)):
		return errors.New("it was made later than now")
	case f.Status.StatusCode.Value != success:
		why := f.Status.StatusCode.Value
		if f.Status.StatusCode.StatusCode != nil {
			why = f.Status.StatusCode.StatusCode.Value
		}
		return login.Refuse(login.Denied, fmt.Errorf("the provider says %.200q", why))
	case f.asserts == nil && f.sealed == nil:
		return errors.New("it has no assertion")
	}
	return nil
}

// verify gives the text of the assertion as a signature covers it: its own, or the
// Response's. Where both are signed, both must be right.
func (f *form) verify(ctx context.Context, trusted []*x509.Certificate, clock *dsig.Clock, keys login.Pairs) ([]byte, error) {
	if f.sealed != nil {
		return f.verifySealed(ctx, trusted, clock, keys)
	}
	var asserts *etree.Element
	for _, el := range []*etree.Element{f.root, f.asserts} {
		if !signed(el) {
			continue
		}
		verified, err := verifyElement(el, trusted, clock)
		if err != nil {
			return nil, fmt.Errorf("the signature of its %s: %w", el.Tag, err)
		}
		if asserts = verified; el == f.root {
			at := slices.IndexFunc(verified.ChildElements(), func(c *etree.Element) bool { return is(c, assertion, "Assertion") })
			if at < 0 {
				return nil, errors.New("the signature covers no assertion")
			}
			asserts = verified.ChildElements()[at]
		}
	}
	if asserts == nil {
		return nil, errors.New("it isn't signed")
	}
	detached, err := detach(asserts)
	if err != nil {
		return nil, err
	}
	return written(detached)
}

// verifySealed is verify of a response whose assertion is encrypted. A signature of
// the response covers the encrypted text, and that is what is read then.
func (f *form) verifySealed(ctx context.Context, trusted []*x509.Certificate, clock *dsig.Clock, keys login.Pairs) ([]byte, error) {
	sealed, covered := f.sealed, false
	if signed(f.root) {
		verified, err := verifyElement(f.root, trusted, clock)
		if err != nil {
			return nil, fmt.Errorf("the signature of its Response: %w", err)
		}
		at := slices.IndexFunc(verified.ChildElements(), func(c *etree.Element) bool { return is(c, assertion, "EncryptedAssertion") })
		if at < 0 {
			return nil, errors.New("the signature covers no assertion")
		}
		sealed, covered = verified.ChildElements()[at], true
	}
	asserts, err := opened(ctx, sealed, keys)
	if err != nil {
		return nil, err
	}
	switch {
	case signed(asserts):
		if asserts, err = verifyElement(asserts, trusted, clock); err != nil {
			return nil, fmt.Errorf("the signature of its Assertion: %w", err)
		}
	case !covered:
		return nil, errors.New("it isn't signed")
	}
	detached, err := detach(asserts)
	if err != nil {
		return nil, err
	}
	return written(detached)
}

// signed says whether an element has a signature of its own.
func signed(el *etree.Element) bool {
	return slices.ContainsFunc(el.ChildElements(), func(c *etree.Element) bool { return c.Tag == "Signature" })
}

// written is an element as text.
func written(el *etree.Element) ([]byte, error) {
	doc := etree.NewDocument()
	doc.SetRoot(el)
	text, err := doc.WriteToBytes()
	if err != nil {
		return nil, fmt.Errorf("write XML: %w", err)
	}
	return text, nil
}

// detach is a copy of an element that has all namespaces which it uses.
func detach(el *etree.Element) (*etree.Element, error) {
	ctx, err := etreeutils.NSBuildParentContext(el)
	if err == nil {
		ctx, err = ctx.SubContext(el)
	}
	if err == nil {
		el, err = etreeutils.NSDetatch(ctx, el)
	}
	if err != nil {
		return nil, fmt.Errorf("read the namespaces: %w", err)
	}
	return el, nil
}

// algorithms are those that a signature may use: none with SHA-1, which is forged.
const (
	exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#"
	enveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
)

func algorithms() map[string][]string {
	return map[string][]string{
		"CanonicalizationMethod": {exclusive},
		"Transform":              {enveloped, exclusive},
		"DigestMethod":           {"http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2001/04/xmldsig-more#sha384", "http://www.w3.org/2001/04/xmlenc#sha512"},
		"SignatureMethod": {
			dsig.RSASHA256SignatureMethod, dsig.RSASHA384SignatureMethod, dsig.RSASHA512SignatureMethod,
			dsig.ECDSASHA256SignatureMethod, dsig.ECDSASHA384SignatureMethod, dsig.ECDSASHA512SignatureMethod,
		},
	}
}

// verifyElement gives what the signature of an element covers: all of it but the
// signature, by one of the keys that the provider's metadata name.
func verifyElement(el *etree.Element, trusted []*x509.Certificate, clock *dsig.Clock) (*etree.Element, error) {
	el, err := detach(el)
	if err != nil {
		return nil, err
	}
	var signatures []*etree.Element
	for _, child := range el.ChildElements() {
		if child.Tag == "Signature" {
			signatures = append(signatures, child)
		}
	}
	if len(signatures) != 1 {
		return nil, errors.New("there is more than one")
	}
	if err := shape(signatures[0], el.SelectAttrValue("ID", "")); err != nil {
		return nil, err
	}
	for _, certificate := range trusted {
		ctx := dsig.NewDefaultValidationContext(&dsig.MemoryX509CertificateStore{Roots: []*x509.Certificate{certificate}})
		ctx.IdAttribute, ctx.Clock = "ID", clock
		var verified *etree.Element
		if verified, err = ctx.Validate(el); err == nil {
			return verified, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", errUnknownKey, err)
}

// errUnknownKey is the error of a signature that none of a provider's keys has made.
var errUnknownKey = errors.New("no key of the provider's metadata made it")

// shape refuses a signature that covers anything but the element whose identifier
// is given, or by another way than all tools write. It takes out which key it says
// that it is by: the metadata say that.
func shape(el *etree.Element, id string) error {
	if id == "" {
		return errors.New("the element has no identifier")
	}
	references, allowed := 0, algorithms()
	for part := range elements(el) {
		if part.Tag == "Reference" {
			references++
			if part.SelectAttrValue("URI", "") != "#"+id {
				return errors.New("it covers something else")
			}
		}
		if words, ok := allowed[part.Tag]; ok && !slices.Contains(words, part.SelectAttrValue("Algorithm", "")) {
			return fmt.Errorf("its %s is %.200q, which isn't taken", part.Tag, part.SelectAttrValue("Algorithm", ""))
		}
	}
	if references != 1 {
		return fmt.Errorf("it has %d references; want one", references)
	}
	for _, child := range el.ChildElements() {
		switch child.Tag {
		case "SignedInfo", "SignatureValue":
		case "KeyInfo":
			el.RemoveChild(child)
		default:
			return fmt.Errorf("it has a %.50q", child.Tag)
		}
	}
	return nil
}

// judge checks an assertion that the provider has signed: that it is of now, for
// Slipway, for who shows it, and of whom it tells.
func (c *Client) judge(p sso.Provider, m sso.Metadata, base, asked string, a saml.Assertion) (login.Asserted, error) {
	out := login.Asserted{ID: a.ID}
	now := c.now()
	if a.Subject != nil && a.Subject.NameID != nil {
		out.Subject = strings.TrimSpace(a.Subject.NameID.Value)
	}
	out.All = claims(p, a)
	switch {
	case a.Version != "2.0" || a.ID == "":
		return out, errors.New("the assertion has no version 2.0, or no identifier")
	case strings.TrimSpace(a.Issuer.Value) != m.EntityID:
		return out, fmt.Errorf("the assertion is of %.200q; want %s", a.Issuer.Value, m.EntityID)
	case out.Subject == "":
		return out, errors.New("the assertion names nobody")
	case a.Subject.NameID.Format == transient:
		return out, login.Refuse(login.Broken, errors.New("the provider gives people another NameID at each login (transient); have it send one that stays, such as the mail address"))
	case a.IssueInstant.After(now.Add(skew)):
		return out, errors.New("the assertion was made later than now")
	case a.Conditions == nil:
		return out, errors.New("the assertion has no conditions")
	}
	if err := holds(*a.Conditions, p.Entity(base), now); err != nil {
		return out, err
	}
	if len(a.AuthnStatements) == 0 {
		return out, errors.New("the assertion doesn't say that somebody logged in")
	}
	for _, s := range a.AuthnStatements {
		if s.SessionNotOnOrAfter != nil && !now.Before(s.SessionNotOnOrAfter.Add(skew)) {
			return out, errors.New("the session at the provider has ended")
		}
	}
	return out, confirm(&out, a.Subject.SubjectConfirmations, base+p.Served("acs"), asked, now)
}

// holds checks the conditions of an assertion.
func holds(c saml.Conditions, entity string, now time.Time) error {
	switch {
	case now.Add(skew).Before(c.NotBefore):
		return errors.New("the assertion doesn't count yet")
	case !c.NotOnOrAfter.IsZero() && !now.Before(c.NotOnOrAfter.Add(skew)):
		return fmt.Errorf("the assertion ended at %s", c.NotOnOrAfter.UTC().Format(time.RFC3339))
	case len(c.AudienceRestrictions) == 0:
		return errors.New("the assertion doesn't say for whom it is")
	}
	for _, r := range c.AudienceRestrictions {
		if strings.TrimSpace(r.Audience.Value) != entity {
			return fmt.Errorf("the assertion is for %.200q, and Slipway is %s", r.Audience.Value, entity)
		}
	}
	return nil
}

// confirm finds the confirmation that lets whoever brings the assertion be whom it
// names: here, now, and as the answer to what was asked.
func confirm(out *login.Asserted, all []saml.SubjectConfirmation, acs, asked string, now time.Time) error {
	err := errors.New("the assertion isn't for whoever brings it")
	for _, s := range all {
		d := s.SubjectConfirmationData
		if s.Method != bearer || d == nil {
			continue
		}
		nonce, ours := strings.CutPrefix(d.InResponseTo, asking)
		switch {
		case d.Recipient != acs:
			err = fmt.Errorf("the assertion is for %.200q; want %s", d.Recipient, acs)
		case d.NotOnOrAfter.IsZero():
			err = errors.New("the assertion doesn't say until when it may be shown")
		case !now.Before(d.NotOnOrAfter.Add(skew)):
			err = fmt.Errorf("the assertion could be shown until %s", d.NotOnOrAfter.UTC().Format(time.RFC3339))
		case now.Add(skew).Before(d.NotBefore):
			err = errors.New("the assertion may not be shown yet")
		case d.InResponseTo != asked:
			err = errors.New("the assertion answers another request than its Response")
		case asked != "" && (!ours || nonce == ""):
			err = fmt.Errorf("the assertion answers %.200q, which Slipway didn't ask", asked)
		default:
			out.Asked, out.Until = nonce, d.NotOnOrAfter.Add(skew)
			return nil
		}
	}
	return err
}

// claims are the attributes of an assertion by name and by friendly name, with
// what the assertion itself says under names that no attribute can take.
func claims(p sso.Provider, a saml.Assertion) map[string]any {
	all, friendly := map[string]any{}, map[string]any{}
	for _, statement := range a.AttributeStatements {
		for _, attribute := range statement.Attributes {
			// Some providers write an attribute once for each of its values.
			said, _ := all[attribute.Name].([]any)
			said = append(said, values(attribute.Values)...)
			if all[attribute.Name] = said; attribute.FriendlyName != "" {
				friendly[attribute.FriendlyName] = said
			}
		}
	}
	for name, said := range friendly {
		if _, named := all[name]; !named {
			all[name] = said
		}
	}
	for _, name := range []string{p.EmailClaim, p.NameClaim} {
		if said, ok := all[name].([]any); ok && len(said) == 1 {
			all[name] = said[0]
		}
	}
	if said, ok := all[p.GroupsClaim].([]any); ok && len(said) == 1 {
		all[p.GroupsClaim] = split(said[0])
	}
	delete(all, sso.NameID)
	if a.Subject != nil && a.Subject.NameID != nil {
		all[sso.NameID] = strings.TrimSpace(a.Subject.NameID.Value)
	}
	methods := []any{}
	for _, s := range a.AuthnStatements {
		if class := s.AuthnContext.AuthnContextClassRef; class != nil {
			methods = append(methods, strings.TrimSpace(class.Value))
		}
	}
	all["amr"] = methods
	return all
}

// split are the groups of one text: some providers write them with commas. A
// distinguished name has commas of its own, and stays whole.
func split(one any) []any {
	text, _ := one.(string)
	if strings.Contains(text, "=") {
		return []any{text}
	}
	var all []any
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
