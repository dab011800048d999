// Package issuer signs the tokens by which clouds and vaults know for whom a
// task works, so that nobody has to keep their keys (docs/oidc.md): an issuer of
// OpenID Connect that has no logins.
//
// Who may have a token, and what it says, is decided before: an identity comes
// with a task. The package serves nothing; pkg/api publishes its keys.
package issuer

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Good is how long a token is good for. A task that runs longer asks for
// another.
const Good = 15 * time.Minute

// Path is where the issuer of an account is, below the server's URL.
const Path = "/oidc/account/"

// Store keeps the sealed keys.
type Store interface {
	PutAnswer(ctx context.Context, a store.Answer) (store.Answer, bool, error)
	Answer(ctx context.Context, key string, now time.Time) (store.Answer, error)
}

// Config is what an Issuer needs.
type Config struct {
	// URL is where clouds reach the server, e.g. "https://slipway.example.com";
	// empty: nobody has said, and nothing is signed.
	URL     string
	Account string
	Store   Store
	Secret  *secret.Keeper
	Now     func() time.Time
}

// Issuer signs tokens of one account. It is for many goroutines.
type Issuer struct {
	Config

	mu   sync.Mutex
	keys map[place]*key // as far as they were needed
	// attesting are the keys that are listed as such which sign attestations.
	attesting map[string]bool
}

// New makes an Issuer.
func New(cfg Config) *Issuer {
	return &Issuer{Config: cfg, keys: map[place]*key{}, attesting: map[string]bool{}}
}

// CheckURL says what is wrong with a server's URL.
func CheckURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(text, "/") {
		return fault.New(fault.Invalid, "the server's URL is %q; want one such as https://slipway.example.com, without a slash at its end", text)
	}
	return nil
}

// Issuer is the URL that tokens name.
func (i *Issuer) Issuer() (string, error) {
	if i.URL == "" {
		return "", fault.New(fault.Unsupported,
			"a token is wanted, and this server doesn't know under which URL clouds reach it; its operator says so by slipway serve --url (docs/oidc.md)")
	}
	return i.URL + Path + i.Account, nil
}

// Discovery is what relying parties read first (OpenID Connect Discovery 1.0).
type Discovery struct {
	Issuer        string   `json:"issuer"`
	Keys          string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported" nullable:"false"`
	SubjectTypes  []string `json:"subject_types_supported" nullable:"false"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported" nullable:"false"`
	Scopes        []string `json:"scopes_supported" nullable:"false"`
	Claims        []string `json:"claims_supported" nullable:"false"`
}

// Discovery describes the issuer. No account is known but its own.
func (i *Issuer) Discovery(account string) (Discovery, error) {
	if err := i.own(account); err != nil {
		return Discovery{}, err
	}
	issuer, err := i.Issuer()
	return Discovery{
		Issuer: issuer, Keys: issuer + "/jwks", ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"},
		Algorithms: []string{string(jose.RS256)}, Scopes: []string{"openid"},
		Claims: append([]string{"iss", "sub", "aud", "exp", "iat", "nbf", "jti"}, identity.Claims()...),
	}, err
}

func (i *Issuer) own(account string) error {
	if account != i.Account || i.URL == "" {
		return fault.New(fault.NotFound, "account %q has no issuer of tokens here", account)
	}
	return nil
}

// SignAll signs the identities of a task, each under its name.
func (i *Issuer) SignAll(ctx context.Context, identities map[string]identity.Identity, of task.ID) (map[string]task.IdentityToken, error) {
	if len(identities) == 0 {
		return nil, nil
	}
	out := make(map[string]task.IdentityToken, len(identities))
	for name, as := range identities {
		t, err := i.Sign(ctx, as, of)
		if err != nil {
			return nil, err
		}
		out[name] = t
	}
	return out, nil
}

// Sign signs an identity of a task.
func (i *Issuer) Sign(ctx context.Context, as identity.Identity, of task.ID) (task.IdentityToken, error) {
	issuer, err := i.Issuer()
	if err != nil {
		return task.IdentityToken{}, err
	}
	now := i.Now()
	k, err := i.signs(ctx, now)
	if err != nil {
		return task.IdentityToken{}, err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: k.private, KeyID: k.public.ID}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return task.IdentityToken{}, fmt.Errorf("make a signer: %w", err)
	}
	claims := map[string]any{}
	for name, value := range as.Claims {
		claims[name] = value
	}
	if tags := tagsOf(as); tags != nil {
		claims["https://aws.amazon.com/tags"] = tags
	}
	// They win over whatever else is claimed.
	registered := map[string]any{
		"iss": issuer, "sub": as.Subject, "aud": as.Audience, "jti": string(of),
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(Good).Unix(),
	}
	text, err := jwt.Signed(signer).Claims(claims).Claims(registered).Serialize()
	if err != nil {
		return task.IdentityToken{}, fmt.Errorf("sign a token of task %s: %w", of, err)
	}
	return task.IdentityToken{Text: text, Good: Good}, nil
}

// sessionTags are what AWS reads tags of a session from.
type sessionTags struct {
	Principal  map[string][]string `json:"principal_tags"`
	Transitive []string            `json:"transitive_tag_keys"` // kept by the role of another account
}

// tagsOf are the tags of an identity that have values; nil if none has.
func tagsOf(i identity.Identity) *sessionTags {
	var tags sessionTags
	for _, name := range i.Tags {
		value := i.Claims[name]
		if value == "" {
			continue
		}
		if tags.Principal == nil {
			tags.Principal = map[string][]string{}
		}
		tags.Principal[name] = []string{value}
		tags.Transitive = append(tags.Transitive, name)
	}
	if tags.Principal == nil {
		return nil
	}
	return &tags
}
