package ledger_test

import (
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// A watch comes with tokens of the identities that its place names, and whose
// watch it is may have others, of the task that has deployed there. Nobody else.
func TestTokensOfWatches(t *testing.T) {
	t.Parallel()
	b := open(t)
	signs := issuer.New(issuer.Config{URL: "https://slipway.example.com", Account: "acme", Store: b.store, Secret: b.keep, Now: b.Now})
	b.Ledger = ledger.New(ledger.Config{Store: b.store, Secret: b.keep, Issuer: signs, Now: b.Now})
	web := &task.AWSWeb{Role: "arn:aws:iam::123456789012:role/deployer", Identity: "identity-1"}
	b.cluster = task.Cluster{Cloud: &task.CloudCluster{EKS: &task.EKS{Name: "main", AWS: task.AWS{Auth: task.AWSOIDC, Web: web}}}}
	b.identities = map[string]identity.Identity{
		"identity-1": {Audience: identity.AWSAudience, Subject: "account:acme"}, "identity-2": {Audience: identity.AWSAudience, Subject: "of the step alone"},
	}
	id := b.deploy("web:1", applied("web:1", 2))
	d := b.delegate("d1", "prod")
	w := b.watched(d)
	if len(w.Tokens) != 1 || strings.Contains(string(w.Place), "eyJ") {
		t.Fatalf("the watch comes with the tokens %v and the place %s", w.Tokens, w.Place)
	}
	token, err := b.WatchToken(t.Context(), d, protocol.WatchToken{Watched: held(w), Identity: "identity-1"})
	b.must(err)
	for _, text := range []string{w.Tokens["identity-1"].Text, token.Text} {
		parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
		b.must(err)
		var claims jwt.Claims
		b.must(parsed.UnsafeClaimsWithoutVerification(&claims))
		if claims.Subject != "account:acme" || claims.ID != string(id) {
			t.Errorf("the token claims %+v", claims)
		}
	}
	elsewhere := b.delegate("d3", "prod")
	elsewhere.Scope = ref.Scope{Account: "acme", Org: "default", Project: "other"}
	later := held(w)
	later.Fence++
	for name, ask := range map[string]func() (task.IdentityToken, error){
		"another delegate": func() (task.IdentityToken, error) {
			return b.WatchToken(t.Context(), b.delegate("d2", "prod"), protocol.WatchToken{Watched: held(w), Identity: "identity-1"})
		},
		"one of another project": func() (task.IdentityToken, error) {
			return b.WatchToken(t.Context(), elsewhere, protocol.WatchToken{Watched: held(w), Identity: "identity-1"})
		},
		"another fence": func() (task.IdentityToken, error) {
			return b.WatchToken(t.Context(), d, protocol.WatchToken{Watched: later, Identity: "identity-1"})
		},
		"what the place doesn't name": func() (task.IdentityToken, error) {
			return b.WatchToken(t.Context(), d, protocol.WatchToken{Watched: held(w), Identity: "identity-2"})
		},
		"no watch": func() (task.IdentityToken, error) {
			return b.WatchToken(t.Context(), d, protocol.WatchToken{Watched: task.Watched{ID: "x", Fence: 1}, Identity: "identity-1"})
		},
	} {
		if token, err := ask(); token.Text != "" || fault.CodeOf(err) == fault.Internal {
			t.Errorf("%s: %+v, %v; want none", name, token, err)
		}
	}
}
