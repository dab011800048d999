package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/execution"
)

// attestationList is what an execution's approvals are attested by.
type attestationList struct {
	Attestations []execution.Attestation `json:"attestations" nullable:"false"`
}

func attestations(s *Server) {
	tags := []string{"Approvals"}
	kept, signs := s.Config.Store.Executions, s.Issuer
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "listAttestations", Method: http.MethodGet, Path: "/v1/executions/{execution}/attestations", Tags: tags,
		Summary: "Get the signed statements of who approved what in an execution",
	}, func(ctx context.Context, in *OfExecution) (*struct{ Body attestationList }, error) {
		leave, err := s.Work.enter(ctx) // it looks at all of the execution
		if err != nil {
			return nil, err
		}
		defer leave()
		list, err := execution.Attestations(ctx, kept, in.ID)
		return &struct{ Body attestationList }{attestationList{list}}, err
	})
	exempt(s, action.Self, huma.Operation{
		OperationID: "getAttestationKeys", Method: http.MethodGet, Path: "/v1/attestations/keys", Tags: tags,
		Summary: "Get the public keys by which attestations are verified: all that have ever signed one",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body attest.Trusted }, error) {
		keys, err := signs.Attesting(ctx)
		return &struct{ Body attest.Trusted }{keys}, err
	})
}
