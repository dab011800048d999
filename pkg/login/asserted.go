package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// ticketAge is how long a browser may take from the provider's answer to the page
// that it is sent on to.
const ticketAge = time.Minute

// ticket is what a provider of SAML has said, until the browser comes for it.
type ticket struct {
	Said Claims `json:"said"`
	// Asked is the nonce of the attempt that this answers; empty: nobody asked.
	Asked string `json:"asked"`
	Next  string `json:"next"` // the page that is wanted of whom nobody asked
}

// Receive takes a response of a provider of SAML, and gives the page where the
// browser goes on to Finish.
//
// The provider has the browser post the response, and browsers send no cookie with
// what another site has them post, unless it is one that every site may use. So
// nobody is logged in here: what was said is kept for a minute, under a name that
// nobody guesses, and the browser is sent to a page of ours. There the cookie
// comes with it that says that this browser has begun the login, as for every
// other provider.
func (d *Desk) Receive(ctx context.Context, provider, base, response, relayed, request string) (string, error) {
	p, made, err := d.speaking(ctx, sso.SAML, provider)
	if err != nil {
		return "", err
	}
	said, err := d.Assertions.Read(ctx, p, base, d.pairs(p, made), response)
	if err == nil && said.Asked == "" && !p.Federation.Unasked {
		err = refuse(Expired, errors.New("nobody asked for the response, and allowIdpInitiated isn't set"))
	}
	if err == nil {
		err = d.first(ctx, "assertion", p.ID+" "+said.ID, said.Until)
	}
	if err != nil {
		return "", d.refused(ctx, p, said.Claims, request, err)
	}
	kept, back := ticket{Said: said.Claims, Asked: said.Asked}, url.Values{"code": {random()}}
	if said.Asked == "" {
		kept.Next = relayed
	} else {
		back.Set("state", relayed)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("encode what the provider %s says: %w", p.ID, err)
	}
	closed, err := d.Secret.Seal(ctx, d.ticketKey(p.ID), text)
	if err != nil {
		return "", err
	}
	_, _, err = d.Store.PutAnswer(ctx, store.Answer{Key: ticketName(back.Get("code")), Body: closed, Expires: d.Now().Add(ticketAge)})
	return p.Served("callback") + "?" + back.Encode(), err
}

// collect gives what was kept under a code, once, to who began the attempt that it
// answers.
func (d *Desk) collect(ctx context.Context, p sso.Provider, code string, a Attempt) (Claims, string, error) {
	kept, err := d.Store.Answer(ctx, ticketName(code), d.Now())
	if fault.Is(err, fault.NotFound) {
		return Claims{}, "", refuse(Expired, errors.New("nothing is kept for the browser"))
	}
	if err == nil {
		err = d.first(ctx, "ticket", code, kept.Expires)
	}
	if err != nil {
		return Claims{}, "", err
	}
	text, err := d.Secret.Open(ctx, d.ticketKey(p.ID), kept.Body)
	if err != nil {
		return Claims{}, "", refuse(Expired, fmt.Errorf("what is kept for the browser can't be opened: %w", err))
	}
	var t ticket
	if err := json.Unmarshal(text, &t); err != nil {
		return Claims{}, "", fmt.Errorf("read what the provider %s said: %w", p.ID, err)
	}
	if subtle.ConstantTimeCompare([]byte(t.Asked), []byte(a.Nonce)) != 1 {
		return Claims{}, "", refuse(Unproved, errors.New("the response answers another login than that which the browser began"))
	}
	if t.Asked == "" {
		return t.Said, t.Next, nil
	}
	return t.Said, a.Next, nil
}

// ticketKey is what is said of a provider's people is sealed for.
func (d *Desk) ticketKey(provider string) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: d.Account}, Kind: "loginTicket", ID: provider}
}

// ticketName is where a ticket is kept. It doesn't tell the code.
func ticketName(code string) string { return fmt.Sprintf("login told %x", sha256.Sum256([]byte(code))) }

// Describe is what the side of a provider of SAML is told of Slipway.
func (d *Desk) Describe(ctx context.Context, provider, base string) ([]byte, error) {
	p, made, err := d.speaking(ctx, sso.SAML, provider)
	if err != nil {
		return nil, err
	}
	return d.Assertions.Describe(ctx, p, base, d.pairs(p, made))
}
