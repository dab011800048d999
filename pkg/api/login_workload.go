package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/login"
)

// workloadPath is where programs log in, which no page of a browser does.
const workloadPath = loginPaths + "workload"

// workloads adds the login of programs that come with a token of an issuer.
func (s *logins) workloads(server *Server) {
	exempt(server, action.Public, huma.Operation{
		OperationID: "exchangeWorkloadToken", Method: http.MethodPost, Path: workloadPath, Tags: []string{"Sessions"}, Security: []map[string][]string{{}},
		Summary: "Swap the token that an issuer, such as that of a CI, has given to a program for one of the service account that a trust rule names",
	}, s.workload)
}

// program is a program that logs in.
type program struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"16384" doc:"The OpenID Connect token that the issuer gave to the program"`
		Rule  string `json:"rule,omitempty" maxLength:"128" doc:"The identifier of the trust rule; none: the one that takes the token"`
	}
	reaches
}

func (s *logins) workload(ctx context.Context, in *program) (*struct{ Body NewToken }, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	t, text, err := s.Desk.Workload(ctx, login.Shown{Rule: in.Body.Rule, Token: login.Password(in.Body.Token), From: in.from, Request: requestID(ctx)})
	if err != nil {
		return nil, sentence(err)
	}
	return &struct{ Body NewToken }{NewToken{Token: tokenOf(t), Secret: text}}, nil
}
