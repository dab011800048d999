package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// keptOut is how often the audit trail is told that one token comes from where nobody is
// let in.
const keptOut = time.Hour

// addressKey is the client's address.
type addressKey struct{}

// gate says from where somebody comes, and whether that one is let in.
type gate struct {
	Store    store.Store
	Grants   *grants.Reader
	Account  string
	Proxies  []netip.Prefix
	LetAllIn bool
	Now      func() time.Time
	Log      *slog.Logger
}

// locate finds out where a request comes from.
func (g *gate) locate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := clientOf(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), g.Proxies)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, at)))
	})
}

// addressOf is where a request comes from; none: nobody knows.
func addressOf(ctx context.Context) netip.Addr {
	at, _ := ctx.Value(addressKey{}).(netip.Addr)
	return at
}

// clientOf is the address of who asks. What a proxy says of it is believed of those that
// the server was told of alone: anybody can send the header. It is read from behind, since
// each proxy adds to its end whom it was asked by.
func clientOf(remote string, forwarded []string, proxies []netip.Prefix) netip.Addr {
	at := parseAddress(hostOf(remote))
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	if len(forwarded) == 0 {
		hops = nil
	}
	for at.IsValid() && len(hops) > 0 && slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(at) }) {
		at = parseAddress(strings.TrimSpace(hops[len(hops)-1]))
		hops = hops[:len(hops)-1]
	}
	return at
}

// parseAddress reads an address, which some proxies write with a port. What is none is
// nobody's.
func parseAddress(text string) netip.Addr {
	at, err := netip.ParseAddr(text)
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		at = with.Addr()
	}
	return at.Unmap().WithZone("")
}

// from is where a request comes from, for the IP allow lists; nothing: it isn't asked.
func (g *gate) from(ctx context.Context, source allowlist.Source) allowlist.Origin {
	if g.LetAllIn {
		return allowlist.Origin{}
	}
	return allowlist.Origin{Address: addressOf(ctx), Source: source}
}

// sourceOf is by what the bearer of a token asks; empty: no list is for it. Delegates
// prove themselves from wherever they are.
func sourceOf(kind store.TokenKind) allowlist.Source {
	switch kind {
	case store.TokenUser:
		return allowlist.API
	case store.TokenSession:
		return allowlist.UI
	case store.TokenDelegate:
	}
	return ""
}

// letsIn refuses who comes without a token from where nobody is let in.
func (g *gate) letsIn(ctx context.Context, source allowlist.Source) error {
	from := g.from(ctx, source)
	if from == (allowlist.Origin{}) {
		return nil
	}
	err := g.Grants.Admit(ctx, g.Account, from)
	if fault.Is(err, fault.Forbidden) {
		g.Log.WarnContext(ctx, "an IP allow list kept somebody out", "from", from.Shown(), "source", string(from.Source), "request", requestID(ctx))
	}
	return err
}

// turnedAway tells the audit trail that whoever has a token comes from where nobody is let
// in, once in a while.
func (g *gate) turnedAway(ctx context.Context, t store.AccessToken, from allowlist.Origin) error {
	key := fmt.Sprintf("kept out %x", sha256.Sum256([]byte(t.ID+" "+network(from.Shown(), ""))))
	_, err := g.Store.Answer(ctx, key, g.Now())
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	_, first, err := g.Store.PutAnswer(ctx, store.Answer{Key: key, Expires: g.Now().Add(keptOut)})
	if err != nil || !first {
		return err
	}
	_, err = g.Store.AppendAudit(ctx, audit.Record{
		Time: g.Now(), Actor: t.Actor, Scope: t.Scope, Action: audit.AccessDenied, Kind: heldAs(t), ID: t.ID, After: "from " + from.Shown(), Request: requestID(ctx),
	})
	return err
}
