package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// OfNode names a node of an execution in the path.
type OfNode struct {
	OfExecution
	Node string `path:"node" maxLength:"2048" doc:"The node's id, or its identifier where only one node has it"`
}

func (s *Server) nodes() {
	tags := []string{"Executions"}
	handle(s, action.ExecutionSteer, huma.Operation{
		OperationID: "intervene", Method: http.MethodPost, Path: "/v1/executions/{execution}/nodes/{node}/intervene", Tags: tags,
		Summary: "Decide what happens to a failed step that waits for a person",
	}, inTurn(s, s.steering.intervene))
	handle(s, action.ApprovalAnswer, huma.Operation{
		OperationID: "answerApproval", Method: http.MethodPost, Path: "/v1/executions/{execution}/nodes/{node}/approval", Tags: tags,
		Summary: "Approve or reject a step that waits for approval",
	}, inTurn(s, s.steering.answerApproval))
	handle(s, action.ExecutionSteer, huma.Operation{
		OperationID: "markNode", Method: http.MethodPost, Path: "/v1/executions/{execution}/nodes/{node}/mark", Tags: tags,
		Summary: "End a running step, or all in a stage, as failed; or a Wait step as a success",
	}, inTurn(s, s.steering.markNode))
	handle(s, action.ExecutionSteer, huma.Operation{
		OperationID: "answerInputs", Method: http.MethodPost, Path: "/v1/executions/{execution}/nodes/{node}/inputs", Tags: tags,
		Summary: "Give a step or a stage the inputs that it waits for",
	}, inTurn(s, s.steering.answerInputs))
	handle(s, action.ApprovalAnswer, huma.Operation{
		OperationID: "answerCallback", Method: http.MethodPost, Path: "/v1/executions/{execution}/approval", Tags: tags,
		Summary: "Approve or reject the one step that waits for approval with a callback id",
	}, inTurn(s, s.steering.answerCallback))
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "getNode", Method: http.MethodGet, Path: "/v1/executions/{execution}/nodes/{node}", Tags: tags,
		Summary: "Get what is known of one stage or step: what it was given, what it has put out, its attempts",
	}, inTurn(s, s.steering.getNode))
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "readLog", Method: http.MethodGet, Path: "/v1/executions/{execution}/nodes/{node}/log", Tags: tags,
		Summary: "Read a step's log; with wait, follow it",
	}, s.steering.readLog)
}

// node finds a node of an execution.
func (s *steering) node(ctx context.Context, in OfNode) (*execution.TreeNode, error) {
	return s.Executions.FindNode(ctx, in.ID, in.Node)
}

func (s *steering) getNode(ctx context.Context, in *OfNode) (*struct{ Body execution.NodeDetails }, error) {
	d, err := s.Executions.Details(ctx, in.ID, in.Node)
	return &struct{ Body execution.NodeDetails }{d}, err
}

// Intervention is the body of an answer to a manual intervention.
type Intervention struct {
	Action plan.ActionType `json:"action" enum:"MarkAsSuccess,Ignore,Retry,Abort,StageRollback,MarkAsFailure,PipelineRollback,StepGroupRollback"`
}

func (s *steering) intervene(ctx context.Context, in *struct {
	OfNode
	Body Intervention
}) (*nothing, error) {
	n, err := s.node(ctx, in.OfNode)
	if err != nil {
		return nil, err
	}
	return nil, s.Executions.Intervene(ctx, in.ID, n.ID, in.Body.Action, author(ctx))
}

// Marking is the body of a person's word on what runs.
type Marking struct {
	As plan.Status `json:"as" enum:"Failed,Success"`
}

func (s *steering) markNode(ctx context.Context, in *struct {
	OfNode
	Body Marking
}) (*nothing, error) {
	n, err := s.node(ctx, in.OfNode)
	if err != nil {
		return nil, err
	}
	if in.Body.As == plan.Failed {
		e, err := s.Store.Execution(ctx, in.ID)
		if err == nil {
			err = marks(ctx, e.Scope)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, s.Executions.Mark(ctx, in.ID, n.ID, in.Body.As, author(ctx))
}

// ApprovalAnswer is the body of an answer to an approval.
type ApprovalAnswer struct {
	Action   string            `json:"action" enum:"APPROVE,REJECT"`
	Comments string            `json:"comments,omitempty" maxLength:"4096"`
	Inputs   map[string]string `json:"inputs,omitempty" doc:"Values of the approver's inputs by name"`
	Digest   string            `json:"digest,omitempty" doc:"Of what was shown; without it, what was asked at first is meant, and an answer is refused if that has changed"`
}

func (s *steering) answerApproval(ctx context.Context, in *struct {
	OfNode
	Body ApprovalAnswer
}) (*nothing, error) {
	n, err := s.node(ctx, in.OfNode)
	if err != nil {
		return nil, err
	}
	return s.approve(ctx, in.OfExecution, n.ID, in.Body)
}

// approve answers for the caller. Who is in a group that is asked needs no
// permission; who is to be everybody must be able to see the execution.
func (s *steering) approve(ctx context.Context, in OfExecution, node plan.NodeID, a ApprovalAnswer) (*nothing, error) {
	e, err := s.Store.Execution(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	seen, err := asker(ctx).Decide(ctx, action.ExecutionView, right.Resource{Scope: e.Scope, ID: e.Pipeline})
	if err != nil {
		return nil, err
	}
	mail, err := asker(ctx).Mail(ctx)
	if err != nil {
		return nil, err
	}
	return nil, s.Executions.Approve(ctx, in.ID, node, execution.ApprovalAnswer{
		Action: a.Action, Comments: a.Comments, Inputs: a.Inputs, Digest: a.Digest, By: author(ctx), Mail: mail, Outside: !seen.Allowed,
		Principal: asker(ctx).As().Principal, Login: provedBy(caller(ctx)),
	})
}

// provedBy is how it was proved who answers.
func provedBy(t store.AccessToken) attest.Login {
	method := "token"
	if t.Kind == store.TokenSession {
		method = "session"
	}
	return attest.Login{Method: method, Provider: t.Login.Provider, AMR: t.Login.AMR}
}

func (s *steering) answerCallback(ctx context.Context, in *struct {
	OfExecution
	CallbackID string `query:"callbackId" maxLength:"256" doc:"The step's callbackId; none means the one step that waits"`
	Body       ApprovalAnswer
}) (*nothing, error) {
	node, err := s.Executions.FindCallback(ctx, in.ID, in.CallbackID)
	if err != nil {
		return nil, err
	}
	return s.approve(ctx, in.OfExecution, node, in.Body)
}

// InputsAnswer is the body of an answer to a step or a stage that asks for
// inputs. A value by path wins.
type InputsAnswer struct {
	InputsYAML string            `json:"inputsYaml,omitempty" doc:"Values as YAML, a part of the step's or the stage's document"`
	Inputs     map[string]string `json:"inputs,omitempty" doc:"Values by path in the step or the stage, e.g. spec.url"`
}

func (s *steering) answerInputs(ctx context.Context, in *struct {
	OfNode
	Body InputsAnswer
}) (*nothing, error) {
	n, err := s.node(ctx, in.OfNode)
	if err != nil {
		return nil, err
	}
	doc, err := launch.InputDocument("inputs", []byte(in.Body.InputsYAML))
	if err != nil {
		return nil, err
	}
	return nil, s.Executions.Answer(ctx, in.ID, n.ID, launch.Inputs{Document: doc, Values: in.Body.Inputs}, author(ctx))
}
