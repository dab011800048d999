package execution

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// claims is what a link says: which approval it is for, as it was asked, and
// which of its links it is. Who may use it stands in the approval.
type claims struct {
	Account   string      `json:"a"`
	Execution string      `json:"e"`
	Node      plan.NodeID `json:"n"`
	Digest    string      `json:"d"`
	Link      string      `json:"l"`
	Expires   int64       `json:"x"` // seconds since 1970
}

// LinkRequest asks for a one-time link to an approval.
type LinkRequest struct {
	Execution string
	Node      plan.NodeID
	Approver  string // who will answer by it
	Valid     time.Duration
	By        audit.Author
}

// maxLink is how long a link is valid at most.
const maxLink = 7 * 24 * time.Hour

// MakeLink makes a link by which one person can answer an approval once,
// without a token. It gives the link's text and when it expires.
func (s *Service) MakeLink(ctx context.Context, r LinkRequest) (text string, expires time.Time, err error) {
	if r.Valid <= 0 || r.Valid > maxLink {
		return "", time.Time{}, fault.New(fault.Invalid, "the link would be valid for %s; want at most %s", r.Valid, maxLink)
	}
	expires = s.Now().Add(r.Valid).UTC().Truncate(time.Second)
	link := plan.ApprovalLink{ID: rand.Text(), Approver: r.Approver, MadeBy: r.By.Actor, Expires: expires}
	c := claims{Execution: r.Execution, Node: r.Node, Link: link.ID, Expires: expires.Unix()}
	d := &decision{node: r.Node, by: r.By, action: audit.CreateLink, kind: "approval link", after: "for " + r.Approver}
	err = s.decide(ctx, r.Execution, d, func(e store.Execution, st *plan.State) (bool, error) {
		if err := asks(r.Node, st); err != nil {
			return false, err
		}
		who, err := s.named(ctx, e.Scope.Account, r.Approver)
		if err == nil {
			err = s.mayAnswer(ctx, e, *st.Approval, who)
		}
		if err != nil {
			return false, err
		}
		ap := *st.Approval
		ap.Links = append(slices.Clone(ap.Links), link)
		st.Approval = &ap
		c.Account, c.Digest = e.Scope.Account, ap.Digest
		return false, nil
	})
	if err != nil {
		return "", time.Time{}, err
	}
	text, err = s.sign(ctx, c)
	return text, expires, err
}

// Linked is an approval as the one sees it who has a link to it.
type Linked struct {
	Execution store.Execution
	Node      plan.NodeID
	Approval  plan.Approval
	Link      plan.ApprovalLink
}

// ReadLink shows what a link asks. It changes nothing.
func (s *Service) ReadLink(ctx context.Context, text string) (Linked, error) {
	c, err := s.verify(ctx, text)
	if err != nil {
		return Linked{}, err
	}
	e, err := s.Store.Execution(ctx, c.Execution)
	if err != nil {
		return Linked{}, err
	}
	nodes, err := s.Store.Nodes(ctx, c.Execution, c.Node)
	if err != nil {
		return Linked{}, err
	}
	if len(nodes) == 0 {
		return Linked{}, badLink()
	}
	link, err := usable(c, &nodes[0].State)
	if err != nil {
		return Linked{}, err
	}
	return Linked{Execution: e, Node: c.Node, Approval: *nodes[0].State.Approval, Link: link}, nil
}

// AnswerLink counts the answer of the one who has a link. The link is used up
// in the same write.
func (s *Service) AnswerLink(ctx context.Context, text string, a ApprovalAnswer) error {
	c, err := s.verify(ctx, text)
	if err != nil {
		return err
	}
	shown, err := s.ReadLink(ctx, text)
	if fault.Is(err, fault.Conflict) {
		nodes, found := s.Store.Nodes(ctx, c.Execution, c.Node)
		if found != nil || len(nodes) == 0 {
			return errors.Join(err, found)
		}
		return s.unanswerable(ctx, nodes[0], err)
	}
	if err != nil {
		return err
	}
	who, err := s.named(ctx, c.Account, shown.Link.Approver)
	if err != nil {
		return err
	}
	a.By.Actor, a.Mail, a.Digest, a.link = who.Name, who.Mail, c.Digest, shown.Link.MadeBy
	return s.approve(ctx, c.Execution, c.Node, a, func(st *plan.State) error {
		link, err := usable(c, st)
		if err != nil {
			return err
		}
		ap := *st.Approval
		ap.Links = slices.Clone(ap.Links)
		for i := range ap.Links {
			if ap.Links[i].ID == link.ID {
				ap.Links[i].Used = true
			}
		}
		st.Approval = &ap
		return nil
	})
}

// badLink is the same for whatever is wrong with a link's text, so that
// guesses learn nothing.
func badLink() error { return fault.New(fault.Unauthenticated, "the link isn't known") }

// usable finds the link in the approval, if it can still be used.
func usable(c claims, st *plan.State) (plan.ApprovalLink, error) {
	if err := asks(c.Node, st); err != nil {
		return plan.ApprovalLink{}, err
	}
	i := slices.IndexFunc(st.Approval.Links, func(l plan.ApprovalLink) bool { return l.ID == c.Link })
	switch {
	case st.Approval.Digest != c.Digest || i < 0:
		return plan.ApprovalLink{}, fault.New(fault.Conflict, "the link is for an earlier question of %s", c.Node)
	case st.Approval.Links[i].Used:
		return plan.ApprovalLink{}, fault.New(fault.Conflict, "the link was used")
	}
	return st.Approval.Links[i], nil
}

// sign writes claims down: account.claims.mac, in base64 but for the first.
func (s *Service) sign(ctx context.Context, c claims) (string, error) {
	doc, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the link: %w", err)
	}
	body := c.Account + "." + base64.RawURLEncoding.EncodeToString(doc)
	key, err := s.linkKey(ctx, c.Account, true)
	if err != nil {
		return "", err
	}
	return body + "." + base64.RawURLEncoding.EncodeToString(mac(key, body)), nil
}

// verify reads a link that this account has signed and that hasn't expired.
func (s *Service) verify(ctx context.Context, text string) (claims, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return claims{}, badLink()
	}
	key, err := s.linkKey(ctx, parts[0], false)
	if fault.Is(err, fault.NotFound) {
		return claims{}, badLink()
	}
	if err != nil {
		return claims{}, err
	}
	sum, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(sum, mac(key, parts[0]+"."+parts[1])) {
		return claims{}, badLink()
	}
	var c claims
	doc, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(doc, &c) != nil || c.Account != parts[0] {
		return claims{}, badLink()
	}
	if s.Now().Unix() >= c.Expires {
		return claims{}, fault.New(fault.Unauthenticated, "the link expired at %s", time.Unix(c.Expires, 0).UTC().Format(time.RFC3339))
	}
	return c, nil
}

func mac(key, body string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte("approval link\n" + body))
	return h.Sum(nil)
}

// linkKeyID is the id under which an account's key is kept.
const linkKeyID = "approval-links"

// linkKey is the key with which an account signs its links. It is made at the
// first link; when two are made at that very moment, one of them may turn out
// not to be known.
func (s *Service) linkKey(ctx context.Context, account string, create bool) (string, error) {
	scope := ref.Scope{Account: account}
	key, err := s.Secret.Kept(ctx, scope, linkKeyID)
	if !create || !fault.Is(err, fault.NotFound) {
		return key, err
	}
	if _, err := s.Secret.Keep(ctx, scope, linkKeyID, rand.Text()+rand.Text()); err != nil {
		return "", err
	}
	return s.Secret.Kept(ctx, scope, linkKeyID)
}
