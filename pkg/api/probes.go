package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// StartedTest says where the answer will be.
type StartedTest struct {
	Execution string         `json:"execution" doc:"The id of the execution that tests the connector"`
	Warnings  []fault.Detail `json:"warnings" nullable:"false" doc:"Of a connector that isn't saved"`
}

// ConnectorTest is what testing a connector has come to.
type ConnectorTest struct {
	Status   execution.ProbeStatus `json:"status" enum:"RUNNING,SUCCESS,PARTIAL,FAILURE,UNKNOWN,NO_DELEGATE" doc:"PARTIAL: it is let in, but may not do all that was tried; UNKNOWN: it couldn't be found out; NO_DELEGATE: nobody could try"`
	Message  string                `json:"message,omitempty" doc:"Why it isn't known"`
	Checks   []probe.Check         `json:"checks" nullable:"false" doc:"In the order in which they were made; those after one that failed are missing"`
	Delegate *Tester               `json:"delegate,omitempty" doc:"Who has tested it; none if nobody has, or if it has gone since"`
}

// Tester is a delegate that has tested a connector.
type Tester struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Host string `json:"host"`
}

func (s *Server) probes() {
	tags := []string{"Connectors"}
	handle(s, action.ConnectorTest, huma.Operation{
		OperationID: "testConnector", Method: http.MethodPost, Path: "/v1/connectors/{connector}/test", Tags: tags,
		Summary: "Have a delegate test a saved connector",
	}, inTurn(s, s.testConnector))
	handle(s, action.ConnectorEdit, huma.Operation{
		OperationID: "testConnectorDocument", Method: http.MethodPost, Path: "/v1/connectors:test", Tags: tags, MaxBodyBytes: yamldoc.MaxBytes + 1,
		Summary: "Have a delegate test a connector that isn't saved",
	}, inTurn(s, s.testDocument))
	handle(s, action.ConnectorView, huma.Operation{
		OperationID: "getConnectorTest", Method: http.MethodGet, Path: "/v1/executions/{execution}/test", Tags: tags,
		Summary: "Get what the test of a connector has come to",
	}, s.steering.getTest)
}

// testsConnector names a connector in the path.
type testsConnector struct {
	Scoped
	Keyed
	Connector string `path:"connector" maxLength:"160" doc:"A reference, such as web or account.web"`
}

// about is the connector, wherever it is: who may use one of the account there
// need not see it.
func (in *testsConnector) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Scope: scope, ID: in.Connector}, err
}

func (s *Server) testConnector(ctx context.Context, in *testsConnector) (*struct{ Body StartedTest }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	body, err := once(ctx, s.kept, in.Keyed, nil, fmt.Sprint("testConnector ", scope, in.Connector), func(key string) (StartedTest, error) {
		e, err := s.Executions.StartProbe(ctx, execution.ProbeRequest{Scope: scope, Connector: in.Connector, By: author(ctx), Key: key})
		return StartedTest{Execution: e.ID, Warnings: list[fault.Detail](nil)}, err
	})
	return &struct{ Body StartedTest }{body}, err
}

func (s *Server) testDocument(ctx context.Context, in *struct {
	Document
	Keyed
}) (*struct{ Body StartedTest }, error) {
	d, err := in.draft(ctx)
	if err != nil {
		return nil, err
	}
	body, err := once(ctx, s.kept, in.Keyed, in.RawBody, fmt.Sprint("testConnectorDocument ", d.Scope), func(key string) (StartedTest, error) {
		checked, err := s.Catalog.Check(ctx, d)
		if err != nil {
			return StartedTest{}, err
		}
		if checked.Key.Kind != ref.Connector {
			return StartedTest{}, invalid("the document is of the kind %s; want a connector", checked.Key.Kind)
		}
		e, err := s.Executions.StartProbe(ctx, execution.ProbeRequest{
			Scope: checked.Key.Scope, Connector: checked.Key.ID, Document: string(d.YAML), By: author(ctx), Key: key,
		})
		return StartedTest{Execution: e.ID, Warnings: list(checked.Warnings)}, err
	})
	return &struct{ Body StartedTest }{body}, err
}

// ofLookup names an execution that a delegate answers a question by. Its
// pipeline is none that was saved.
type ofLookup struct{ OfExecution }

func (in ofLookup) about(ctx context.Context, s *Server) (right.Resource, error) {
	on, err := in.OfExecution.about(ctx, s)
	return right.Resource{Scope: on.Scope}, err
}

func (s *steering) getTest(ctx context.Context, in *ofLookup) (*struct{ Body ConnectorTest }, error) {
	p, err := s.Executions.Probe(ctx, in.ID)
	out := ConnectorTest{Status: p.Status, Message: p.Message, Checks: list(p.Checks)}
	if p.Delegate != nil {
		out.Delegate = &Tester{ID: p.Delegate.ID, Name: p.Delegate.Name, Host: p.Delegate.Host}
	}
	return &struct{ Body ConnectorTest }{out}, err
}
