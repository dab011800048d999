package apiclient

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Start runs a pipeline.
func (c *Client) Start(ctx context.Context, scope ref.Scope, pipeline string, in api.StartExecution) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("pipelines", pipeline, "executions"), scoped(scope), in)
}

// Plan says what Start would run, and starts nothing. Deployment freezes are
// those at a time; the zero one is now.
func (c *Client) Plan(ctx context.Context, scope ref.Scope, pipeline string, in api.StartExecution, at time.Time, p Part) (api.Plan, error) {
	q := p.in(scoped(scope))
	if !at.IsZero() {
		q.Set("at", at.UTC().Format(time.RFC3339))
	}
	return post[api.Plan](ctx, c, path("pipelines", pipeline, "plan"), q, in)
}

// Preview has delegates compare what Start would deploy with what there is.
func (c *Client) Preview(ctx context.Context, scope ref.Scope, pipeline string, in api.StartExecution) (api.Preview, error) {
	return post[api.Preview](ctx, c, path("pipelines", pipeline, "preview"), scoped(scope), in)
}

// Differences are what a preview has found out so far.
func (c *Client) Differences(ctx context.Context, id string) (api.Differences, error) {
	return get[api.Differences](ctx, c, path("executions", id, "differences"), nil)
}

// AskVersions has a delegate list the versions of a service's artifact.
func (c *Client) AskVersions(ctx context.Context, scope ref.Scope, service string, in api.AskVersions) (api.AskedVersions, error) {
	return post[api.AskedVersions](ctx, c, path("services", service, "artifacts"), scoped(scope), in)
}

// Versions are what a delegate has found for AskVersions.
func (c *Client) Versions(ctx context.Context, id string) (api.ArtifactVersions, error) {
	return get[api.ArtifactVersions](ctx, c, path("executions", id, "artifacts"), nil)
}

// TestConnector has a delegate test a saved connector.
func (c *Client) TestConnector(ctx context.Context, scope ref.Scope, connector string) (api.StartedTest, error) {
	return post[api.StartedTest](ctx, c, path("connectors", connector, "test"), scoped(scope), struct{}{})
}

// TestDocument has a delegate test a connector that isn't saved.
func (c *Client) TestDocument(ctx context.Context, d Document) (api.StartedTest, error) {
	r := d.request(http.MethodPost, "/v1/connectors:test")
	r.key = rand.Text()
	return call[api.StartedTest](ctx, c, r)
}

// ConnectorTest is what the test of a connector has come to.
func (c *Client) ConnectorTest(ctx context.Context, id string) (api.ConnectorTest, error) {
	return get[api.ConnectorTest](ctx, c, path("executions", id, "test"), nil)
}

// Execution gets an execution with as many of its nodes as an answer has.
func (c *Client) Execution(ctx context.Context, id string) (api.ExecutionTree, error) {
	return c.ExecutionPart(ctx, id, Part{})
}

// Part says which nodes are wanted. The zero value is all that an answer has.
type Part struct {
	Node   string        // only this one and those below it; "" means the pipeline
	From   int           // of its children those from this index on
	Status []plan.Status // of an execution: nodes with one of these alone, and those above them; none means all
}

func (p Part) in(q url.Values) url.Values {
	set(q, "node", p.Node)
	if p.From > 0 {
		q.Set("from", strconv.Itoa(p.From))
	}
	setStatuses(q, p.Status)
	return q
}

func setStatuses(q url.Values, statuses []plan.Status) {
	var words []string
	for _, s := range statuses {
		words = append(words, string(s))
	}
	set(q, "status", strings.Join(words, ","))
}

// ExecutionPart gets an execution with some of its nodes.
func (c *Client) ExecutionPart(ctx context.Context, id string, p Part) (api.ExecutionTree, error) {
	return get[api.ExecutionTree](ctx, c, path("executions", id), p.in(url.Values{}))
}

// ExecutionFilter says which executions are listed.
type ExecutionFilter struct {
	Pipeline string        // "" means all
	Since    time.Time     // zero means all
	Statuses []plan.Status // none means all
}

// Executions lists executions, newest first.
func (c *Client) Executions(ctx context.Context, scope ref.Scope, f ExecutionFilter, p Page) ([]api.Execution, string, error) {
	q := p.in(scoped(scope))
	set(q, "pipeline", f.Pipeline)
	if !f.Since.IsZero() {
		set(q, "since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	setStatuses(q, f.Statuses)
	l, err := get[api.ExecutionList](ctx, c, path("executions"), q)
	return l.Executions, l.NextPageToken, err
}

// Abort ends an execution.
func (c *Client) Abort(ctx context.Context, id string) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("executions", id, "abort"), nil, struct{}{})
}

// Pause lets an execution start nothing new.
func (c *Client) Pause(ctx context.Context, id string) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("executions", id, "pause"), nil, struct{}{})
}

// Resume lets a paused execution go on.
func (c *Client) Resume(ctx context.Context, id string) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("executions", id, "resume"), nil, struct{}{})
}

// Mark ends a running node as failed, or a Wait step as a success.
func (c *Client) Mark(ctx context.Context, id, node string, in api.Marking) error {
	_, err := post[struct{}](ctx, c, path("executions", id, "nodes", node, "mark"), nil, in)
	return err
}

// Rollback rolls an execution back that succeeded.
func (c *Client) Rollback(ctx context.Context, id string) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("executions", id, "rollback"), nil, struct{}{})
}

// RollbackService rolls the execution back that has deployed what a service
// runs somewhere.
func (c *Client) RollbackService(ctx context.Context, scope ref.Scope, service string, at api.RollbackPlace) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("services", service, "rollback"), scoped(scope), at)
}

// Retry runs the pipeline of an execution again with the same inputs.
func (c *Client) Retry(ctx context.Context, id string, in api.Retry) (api.Execution, error) {
	return post[api.Execution](ctx, c, path("executions", id, "retry"), nil, in)
}

// Intervene decides on a node that waits for a person.
func (c *Client) Intervene(ctx context.Context, id, node string, in api.Intervention) error {
	_, err := post[struct{}](ctx, c, path("executions", id, "nodes", node, "intervene"), nil, in)
	return err
}

// Answer approves or rejects a node that waits for approval.
func (c *Client) Answer(ctx context.Context, id, node string, in api.ApprovalAnswer) error {
	_, err := post[struct{}](ctx, c, path("executions", id, "nodes", node, "approval"), nil, in)
	return err
}

// AnswerInputs gives a node the inputs that it waits for.
func (c *Client) AnswerInputs(ctx context.Context, id, node string, in api.InputsAnswer) error {
	_, err := post[struct{}](ctx, c, path("executions", id, "nodes", node, "inputs"), nil, in)
	return err
}

// ApprovalLink makes a link by which one person can answer an approval once.
func (c *Client) ApprovalLink(ctx context.Context, id, node string, in api.MakeLink) (api.NewApprovalLink, error) {
	return post[api.NewApprovalLink](ctx, c, path("executions", id, "nodes", node, "approval", "links"), nil, in)
}

// LogQuery says which part of a log is wanted.
type LogQuery struct {
	Attempt int   // 0: the latest
	From    int64 // Next of the part before
	Tail    int   // so many of the last lines instead; 0: all from From on
	Wait    int   // seconds to wait for lines, unless the log has ended
}

// Log reads a part of a node's log.
func (c *Client) Log(ctx context.Context, id, node string, in LogQuery) (api.Log, error) {
	q := url.Values{}
	if in.Attempt > 0 {
		q.Set("attempt", strconv.Itoa(in.Attempt))
	}
	if in.Tail > 0 {
		q.Set("tail", strconv.Itoa(in.Tail))
	} else {
		q.Set("from", strconv.FormatInt(in.From, 10))
	}
	q.Set("wait", strconv.Itoa(in.Wait))
	return get[api.Log](ctx, c, path("executions", id, "nodes", node, "log"), q)
}

// Node reads what is known of one node of an execution, by its id or its
// identifier.
func Node(ctx context.Context, c *Client, id, node string) (execution.NodeDetails, error) {
	return get[execution.NodeDetails](ctx, c, path("executions", id, "nodes", node), nil)
}
