package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/issuer"
)

// provider is what clouds read to trust the tokens of tasks. They have no token
// of ours.
type provider struct{ *issuer.Issuer }

func identityProvider(s *Server) {
	p := provider{s.Issuer}
	tags := []string{"Issuer of tokens"}
	handle(s, huma.Operation{
		OperationID: "getIssuer", Method: http.MethodGet, Path: issuer.Path + "{account}/.well-known/openid-configuration", Tags: tags,
		Summary: "Describe the issuer of the tokens by which clouds know tasks; it needs no token", Security: []map[string][]string{{}},
	}, p.describe)
	handle(s, huma.Operation{
		OperationID: "getIssuerKeys", Method: http.MethodGet, Path: issuer.Path + "{account}/jwks", Tags: tags,
		Summary: "Get the public keys by which these tokens are verified; it needs no token", Security: []map[string][]string{{}},
	}, p.keys)
}

// public lets everybody keep an answer for a while: much less than keys are
// published before they sign.
const public = "public, max-age=3600"

// OfAccount names an account in the path.
type OfAccount struct {
	Account string `path:"account" maxLength:"128"`
}

// cached is an answer that everybody may keep.
type cached[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         T
}

func (p provider) describe(_ context.Context, in *OfAccount) (*cached[issuer.Discovery], error) {
	d, err := p.Discovery(in.Account)
	return &cached[issuer.Discovery]{public, d}, err
}

func (p provider) keys(ctx context.Context, in *OfAccount) (*cached[issuer.KeySet], error) {
	set, err := p.KeySet(ctx, in.Account)
	return &cached[issuer.KeySet]{public, set}, err
}
