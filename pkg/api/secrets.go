package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// maxSecretFile bounds the content of a SecretFile, in bytes.
const maxSecretFile = 1 << 20

func (s *Server) secrets() {
	handle(s, action.SecretEdit, huma.Operation{
		OperationID: "setSecretFile", Method: http.MethodPut, Path: "/v1/secrets/{id}/file", Tags: []string{"Entities"},
		MaxBodyBytes: maxSecretFile + 1, Summary: "Set the content of a SecretFile, which is never given out",
	}, inTurn(s, s.saved.setSecretFile))
}

// setsFile brings the content of a secret in the path.
type setsFile struct {
	Scoped
	ID      string `path:"id" maxLength:"128"`
	RawBody []byte `contentType:"application/octet-stream"`
}

func (in *setsFile) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.ID}, err
}

func (s *documents) setSecretFile(ctx context.Context, in *setsFile) (*nothing, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	key := store.EntityKey{Scope: scope, Kind: ref.Secret, ID: in.ID}
	return nil, s.Catalog.SetFile(ctx, key, in.RawBody, author(ctx))
}
