package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// provider is what clouds read to trust the tokens of tasks, for which they need
// no token of ours, and what people see of it and do with its keys.
type provider struct {
	*issuer.Issuer

	audits store.Audits
	kept   kept
}

func identityProvider(s *Server) {
	p := provider{s.Issuer, s.Store.Audits, s.kept}
	tags := []string{"Issuer of tokens"}
	exempt(s, action.Public, huma.Operation{
		OperationID: "getIssuer", Method: http.MethodGet, Path: issuer.Path + "{account}/.well-known/openid-configuration", Tags: tags,
		Summary: "Describe the issuer of the tokens by which clouds know tasks; it needs no token", Security: []map[string][]string{{}},
	}, p.describe)
	exempt(s, action.Public, huma.Operation{
		OperationID: "getIssuerKeys", Method: http.MethodGet, Path: issuer.Path + "{account}/jwks", Tags: tags,
		Summary: "Get the public keys by which these tokens are verified; it needs no token", Security: []map[string][]string{{}},
	}, p.keys)
	exempt(s, action.Self, huma.Operation{
		OperationID: "getIssuerStatus", Method: http.MethodGet, Path: "/v1/issuer", Tags: tags, Summary: "Tell what tokens for clouds have as their issuer, and when its keys sign",
	}, p.tell)
	handle(s, action.IssuerRotate, huma.Operation{
		OperationID: "rotateIssuerKeys", Method: http.MethodPost, Path: "/v1/issuer/rotate", Tags: tags, Summary: "Make a new key for the tokens that clouds trust",
	}, p.rotate)
}

func (p provider) tell(ctx context.Context, _ *struct{}) (*struct{ Body issuer.Status }, error) {
	status, err := p.Status(ctx, caller(ctx).Scope.Account)
	return &struct{ Body issuer.Status }{status}, err
}

// RotateIssuer is the body of a request for a new key.
type RotateIssuer struct {
	Leaked bool `json:"leaked,omitempty" doc:"Others know the keys that there are: a new one signs at once, and they are published no more"`
}

// rotate makes a key for the whole account, so it takes a token of that.
func (p provider) rotate(ctx context.Context, in *struct {
	ofTheAccount
	Keyed
	Body    RotateIssuer
	RawBody []byte
}) (*struct{ Body issuer.Status }, error) {
	by := caller(ctx)
	account := ref.Scope{Account: by.Scope.Account}
	status, err := once(ctx, p.kept, in.Keyed, in.RawBody, "rotateIssuerKeys", func(string) (issuer.Status, error) {
		status, err := p.Rotate(ctx, account.Account, in.Body.Leaked)
		if err != nil {
			return issuer.Status{}, err
		}
		made := status.Keys[len(status.Keys)-1]
		after := "signs from " + made.SignsFrom.Format(time.RFC3339)
		if in.Body.Leaked {
			after += "; those before it have leaked"
		}
		_, err = p.audits.AppendAudit(ctx, audit.Record{
			Time: p.Now(), Actor: by.Actor, Scope: account, Action: audit.Rotate, Kind: "issuer", ID: made.ID, After: after, Request: requestID(ctx),
		})
		return status, err
	})
	return &struct{ Body issuer.Status }{status}, err
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
