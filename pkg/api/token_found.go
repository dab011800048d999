package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// foundPath is where whoever finds a token ends it: the token is all that it takes.
const foundPath = "/v1/tokens:revoke"

// foundTokens adds the end of tokens that somebody found, such as a scanner of
// repositories.
func foundTokens(s *Server) {
	exempt(s, action.Public, huma.Operation{
		OperationID: "revokeFoundToken", Method: http.MethodPost, Path: foundPath, Tags: []string{"Tokens"}, Security: []map[string][]string{{}},
		Summary: "Revoke a token by its text; it needs no other one. The answer is the same for what is no token",
	}, func(ctx context.Context, in *struct {
		Body struct {
			Token string `json:"token" minLength:"1" maxLength:"512" doc:"The whole text of the token"`
		}
	}) (*nothing, error) {
		return nil, revokeFound(ctx, s, in.Body.Token)
	})
}

// revokeFound ends the token or the session that a text is, if it is one.
func revokeFound(ctx context.Context, s *Server, text string) error {
	t, err := access.Verify(ctx, s.Store.Keys, text, s.Now())
	if fault.Is(err, fault.Unauthenticated) {
		t, err = access.VerifySession(ctx, s.Store.Keys, text, s.Now())
	}
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.ExpiredToken) {
		return nil // it opens nothing
	}
	if err != nil {
		return err
	}
	t.Revoked = true
	if err := s.Store.PutToken(ctx, t); err != nil {
		return err
	}
	_, err = s.Store.AppendAudit(ctx, audit.Record{
		Time: s.Now(), Actor: "whoever has the token", Scope: t.Scope, Action: audit.RevokeToken, Kind: heldAs(t), ID: t.ID,
		After: string(t.Kind) + " " + t.Name + " for " + t.Actor + ", by its text", Request: requestID(ctx),
	})
	return err
}

// heldAs is what the audit trail calls what somebody holds.
func heldAs(t store.AccessToken) string {
	if t.Kind == store.TokenSession {
		return "session"
	}
	return "token"
}
