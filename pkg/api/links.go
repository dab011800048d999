package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
)

func (s *Server) approvalLinks() {
	tags := []string{"Approvals"}
	handle(s, action.ApprovalAnswer, huma.Operation{
		OperationID: "makeApprovalLink", Method: http.MethodPost, Path: "/v1/executions/{execution}/nodes/{node}/approval/links", Tags: tags,
		Summary: "Make a link by which one person can answer an approval once, without a token",
	}, inTurn(s, s.steering.makeLink))
	exempt(s, action.Public, huma.Operation{
		OperationID: "readApprovalLink", Method: http.MethodGet, Path: linkPaths + "{link}", Tags: tags,
		Summary: "Show what a link asks; it needs no token and changes nothing",
	}, s.steering.readLink)
	exempt(s, action.Public, huma.Operation{
		OperationID: "answerApprovalLink", Method: http.MethodPost, Path: linkPaths + "{link}", Tags: tags,
		Summary: "Approve or reject by a link, which is used up; it needs no token",
	}, inTurn(s, s.steering.answerLink))
}

// MakeLink is the body of a request for a link.
type MakeLink struct {
	Approver string `json:"approver,omitempty" maxLength:"128" doc:"Who will answer by it; none means who asks. Only an account's token may name another"`
	Hours    int    `json:"hours,omitempty" minimum:"1" maximum:"168" doc:"How long it is valid; 24 if it isn't said"`
}

// NewApprovalLink is a link that was just made: the only time that it is shown.
type NewApprovalLink struct {
	Path      string    `json:"path" doc:"Below the server's address. Who has it can answer once"`
	Approver  string    `json:"approver"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (s *steering) makeLink(ctx context.Context, in *struct {
	OfNode
	Body MakeLink
}) (*struct{ Body NewApprovalLink }, error) {
	n, err := s.node(ctx, in.OfNode)
	if err != nil {
		return nil, err
	}
	if !printable.Clean(in.Body.Approver) {
		return nil, invalid("the approver %q isn't all of characters that can be seen", in.Body.Approver)
	}
	by := caller(ctx)
	approver := cmp.Or(in.Body.Approver, by.Actor)
	if approver != by.Actor && by.Scope.Org != "" {
		return nil, fault.New(fault.Forbidden, "a token for %s can't make a link for %q", by.Scope, approver)
	}
	if approver != by.Actor {
		if err := asker(ctx).Everything(ctx); err != nil {
			return nil, fault.Wrap(err, "only who may do everything in the account makes a link for %q", approver)
		}
	}
	text, expires, err := s.Executions.MakeLink(ctx, execution.LinkRequest{
		Execution: in.ID, Node: n.ID, Approver: approver, Valid: time.Duration(cmp.Or(in.Body.Hours, 24)) * time.Hour, By: author(ctx),
	})
	return &struct{ Body NewApprovalLink }{NewApprovalLink{Path: linkPaths + text, Approver: approver, ExpiresAt: expires}}, err
}

// OfLink is a link in the path.
type OfLink struct {
	Link string `path:"link" maxLength:"4096"`
}

// linkedApproval is what a link asks.
type linkedApproval struct {
	Pipeline  string               `json:"pipeline"`
	Execution string               `json:"execution"`
	Node      plan.NodeID          `json:"node"`
	Message   string               `json:"message"`
	Approver  string               `json:"approver" doc:"Who answers by the link"`
	ExpiresAt time.Time            `json:"expiresAt"`
	Inputs    []plan.ApprovalInput `json:"inputs" nullable:"false"`
	Values    map[string]string    `json:"values" doc:"The inputs as they are now, by name"`
	Digest    string               `json:"digest" doc:"Of what is asked, which the answer is bound to"`
	Facts     plan.Facts           `json:"facts,omitempty" doc:"What the execution deploys where, as far as it is known"`
}

func (s *steering) readLink(ctx context.Context, in *OfLink) (*struct{ Body linkedApproval }, error) {
	l, err := s.Executions.ReadLink(ctx, in.Link)
	if err != nil {
		return nil, err
	}
	return &struct{ Body linkedApproval }{linkedApproval{
		Pipeline: l.Execution.Name, Execution: l.Execution.ID, Node: l.Node, Message: l.Approval.Message,
		Approver: l.Link.Approver, ExpiresAt: l.Link.Expires, Inputs: list(l.Approval.Inputs), Values: l.Approval.Values(),
		Digest: l.Approval.Digest, Facts: l.Approval.Facts,
	}}, nil
}

// linkAnswer is the body of an answer by a link.
type linkAnswer struct {
	Action   string            `json:"action" enum:"APPROVE,REJECT"`
	Comments string            `json:"comments,omitempty" maxLength:"4096"`
	Inputs   map[string]string `json:"inputs,omitempty" doc:"Values of the approver's inputs by name"`
}

func (s *steering) answerLink(ctx context.Context, in *struct {
	OfLink
	Body linkAnswer
}) (*nothing, error) {
	return nil, s.Executions.AnswerLink(ctx, in.Link, execution.ApprovalAnswer{
		Action: in.Body.Action, Comments: in.Body.Comments, Inputs: in.Body.Inputs, By: audit.Author{Request: requestID(ctx)},
	})
}
