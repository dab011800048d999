package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The bounds of what is told of one node.
const (
	maxInputs   = 512 << 10 // bytes of resolved values
	maxOutputs  = 500
	maxAttempts = 20 // the last ones, each of which takes a read
)

// NodeDetails is what is known of one node of an execution. Secrets are masked
// as in logs.
type NodeDetails struct {
	Node      *TreeNode           `json:"node" doc:"Without what is below it"`
	Line      int                 `json:"line,omitempty" doc:"In the pipeline's document"`
	Inputs    NodeInputs          `json:"inputs"`
	Outputs   []NodeOutput        `json:"outputs" nullable:"false"`
	Hidden    int                 `json:"hiddenOutputs,omitempty" doc:"How many more there are"`
	Delivered *resolve.Delivered  `json:"delivered,omitempty" doc:"What a Deployment stage deploys where"`
	Attempts  []NodeAttempt       `json:"attempts" nullable:"false" doc:"Of a step, the first one first; of many the last 20"`
	Failures  []fault.FailureType `json:"failures,omitempty" nullable:"false" doc:"The types of its failure, which failure strategies ask for"`
	Strategy  plan.ActionType     `json:"strategy,omitempty" doc:"What a failure strategy is doing about it"`
	When      *NodeCondition      `json:"when,omitempty"`
	Loop      *NodeIteration      `json:"iteration,omitempty" doc:"Of the nearest loop that it is in"`
	Timeout   string              `json:"timeout,omitempty" doc:"As written"`
	Deadline  time.Time           `json:"deadline,omitzero" doc:"When its time is up, or was; of a step that of its attempt"`
	Selectors []string            `json:"selectors,omitempty" nullable:"false" doc:"The delegate selectors of a step"`
}

// NodeInputs is what a node was given: the spec of a step, the variables and
// conditions of what has steps in it. Expressions have the values that they have
// now.
type NodeInputs struct {
	YAML   string      `json:"yaml,omitempty" doc:"Resolved. What has no value is as it was written"`
	Values []NodeValue `json:"values" nullable:"false" doc:"The expressions in it"`
}

// NodeValue is an expression in a node's document.
type NodeValue struct {
	Path    string `json:"path" doc:"In the document, e.g. source.spec.script"`
	Written string `json:"written"`
	Value   string `json:"value,omitempty" doc:"Secrets in it are masked"`
	Secret  bool   `json:"secret,omitempty" doc:"Some of it is masked"`
	Unknown string `json:"unknown,omitempty" doc:"Why it has no value"`
}

// NodeOutput is a value that a node has put out.
type NodeOutput struct {
	Name       string `json:"name" doc:"e.g. output.outputVariables.tag"`
	Expression string `json:"expression,omitempty" doc:"By which other steps read it; none where expressions can't"`
	Value      string `json:"value" doc:"Lists are JSON; a secret is masked"`
	Secret     bool   `json:"secret,omitempty"`
}

// NodeAttempt is an attempt of a step.
type NodeAttempt struct {
	Number    int           `json:"number"`
	Status    plan.Status   `json:"status"`
	Message   string        `json:"message,omitempty"`
	StartedAt time.Time     `json:"startedAt,omitzero"`
	EndedAt   time.Time     `json:"endedAt,omitzero"`
	Delegate  *NodeDelegate `json:"delegate,omitempty" doc:"Who did it, or does"`
}

// NodeDelegate is a delegate that has taken a step's task.
type NodeDelegate struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty" doc:"Of one that has gone nothing but the id may be known"`
	Host string `json:"host,omitempty"`
}

// NodeCondition is when a node runs.
type NodeCondition struct {
	Status    string `json:"status" doc:"What must have become of what comes before it: Success, Failure or All"`
	Condition string `json:"condition,omitempty" doc:"As written"`
}

// NodeIteration is which iteration of a loop a node is in.
type NodeIteration struct {
	Name   string            `json:"name"`
	Number int               `json:"number" doc:"1 for the first"`
	Total  int               `json:"total"`
	Values map[string]string `json:"values,omitempty" doc:"What it runs with, e.g. matrix.region"`
}

// Details tells of one node, by its id, or by its identifier where only one node
// has it.
func (s *Service) Details(ctx context.Context, id, name string) (NodeDetails, error) {
	n, err := s.FindNode(ctx, id, name)
	if err != nil {
		return NodeDetails{}, err
	}
	v, err := s.Engine.Reader.View(ctx, id, n.ID)
	if err != nil {
		return NodeDetails{}, err
	}
	st := v.State(n.ID)
	out := NodeDetails{
		Node: n, Line: v.Node.Line, Timeout: v.Node.Timeout, Selectors: v.Node.Selectors, Deadline: st.Deadline, Failures: st.Failures, Loop: iterationOf(v), Inputs: inputsOf(v),
	}
	if st.Strategy != nil {
		out.Strategy = st.Strategy.Type
	}
	if w := v.Node.When; w != nil {
		out.When = &NodeCondition{Status: w.Status, Condition: w.Condition}
	}
	if out.Outputs, out.Hidden, err = outputsOf(v); err != nil {
		return NodeDetails{}, err
	}
	if n.Kind == plan.KindStage && v.Node.Deploys(st) != nil && len(v.Node.Children) > 0 {
		// Within a stage its service has a name; in its own condition it hasn't.
		if out.Delivered, err = resolve.DeliveredBy(s.Engine.Reader.Of(ctx, v, v.Node.Children[0]).Scope); err != nil {
			return NodeDetails{}, err
		}
	}
	if out.Attempts, err = s.attempts(ctx, v, st); err != nil {
		return NodeDetails{}, err
	}
	return out, v.Err()
}

// inputsOf are what a node's document gives it.
func inputsOf(v engine.View) NodeInputs {
	known, values := v.Given(maxInputs)
	out := NodeInputs{Values: make([]NodeValue, len(values))}
	if known != nil && len(known.Entries) > 0 {
		out.YAML = string(yamldoc.Format(known, nil))
	}
	for i, k := range values {
		out.Values[i] = NodeValue{Path: k.Path, Written: k.Written, Value: k.Value, Secret: k.Secret}
		if k.Err != nil {
			out.Values[i].Unknown = k.Err.Error()
		}
	}
	return out
}

// outputsOf are what a step has put out, by name, and how many there are beyond
// what is told.
func outputsOf(v engine.View) ([]NodeOutput, int, error) {
	out := []NodeOutput{}
	doc := v.State(v.Node.ID).Result()
	if len(doc) == 0 {
		return out, 0, nil
	}
	var all map[string]any
	if err := json.Unmarshal(doc, &all); err != nil {
		return nil, 0, fmt.Errorf("decode the outputs of %s: %w", v.Node.ID, err)
	}
	base := string(v.Node.ID)
	if stage := v.Node.Stage(); stage != nil && stage.Chained() == v.Node {
		base = string(stage.ID) // semantics/pipeline §1.7
	}
	hidden := 0
	var visit func(name string, value any)
	visit = func(name string, value any) {
		m, ok := value.(map[string]any)
		_, secret := m[plan.SecretKey]
		switch {
		case ok && !secret && len(m) > 0:
			for _, key := range slices.Sorted(maps.Keys(m)) {
				visit(name+member(key), m[key])
			}
		case len(out) == maxOutputs:
			hidden++
		default:
			one := NodeOutput{Name: strings.TrimPrefix(name, "."), Value: plain(value), Secret: secret}
			if body := base + name; readable(v, body) {
				one.Expression = "<+" + body + ">"
			}
			out = append(out, one)
		}
	}
	visit("", all)
	return out, hidden, nil
}

// member is how expressions go to a value by its key.
func member(key string) string {
	for i, r := range key {
		switch {
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		case i > 0 && r >= '0' && r <= '9':
		default:
			return fmt.Sprintf("[%q]", key)
		}
	}
	return "." + key
}

// readable says whether an expression has a value. Not all that is kept of what
// looks something up is for expressions.
func readable(v engine.View, body string) bool {
	if strings.ContainsAny(body, "\\<>") {
		return false
	}
	got, err := v.EvaluateWith(body, nil)
	return err == nil && !got.IsNull()
}

// plain is a value of outputs as a text, its secrets masked.
func plain(value any) string {
	return expr.FromAny(plan.Sealed(value, redact.Mask)).Text()
}

// iterationOf says in which iteration of the nearest loop a node is.
func iterationOf(v engine.View) *NodeIteration {
	loop, postfix := v.Node.Looped()
	if loop == nil {
		return nil
	}
	its := v.State(loop.ID).Iterations
	it := its.Of(postfix)
	if it == nil {
		return nil
	}
	number := slices.IndexFunc(its.List, func(i plan.Iteration) bool { return i.Postfix == postfix }) + 1
	out := &NodeIteration{Name: it.Name, Number: number, Total: len(its.List)}
	var values map[string]map[string]any
	if len(it.Values) > 0 && json.Unmarshal(it.Values, &values) == nil {
		out.Values = map[string]string{}
		for kind, axes := range values {
			for axis, value := range axes {
				out.Values[kind+"."+axis] = plain(value)
			}
		}
	}
	return out
}

// attempts are those of a step that has begun, with who did them.
func (s *Service) attempts(ctx context.Context, v engine.View, st plan.State) ([]NodeAttempt, error) {
	out := []NodeAttempt{}
	if v.Node.Kind != plan.KindStep || st.Attempt == 0 {
		return out, nil
	}
	began := st.StartedAt
	for _, h := range st.History {
		out = append(out, NodeAttempt{Number: h.Number, Status: h.Status, Message: h.Message, StartedAt: h.StartedAt, EndedAt: h.EndedAt})
		began = h.EndedAt
	}
	if len(out) == 0 || out[len(out)-1].Number < st.Attempt {
		out = append(out, NodeAttempt{Number: st.Attempt, Status: st.Status, Message: st.Message, StartedAt: began, EndedAt: st.EndedAt})
	}
	out = out[max(len(out)-maxAttempts, 0):]
	known := map[string]*NodeDelegate{}
	for i := range out {
		look := 0
		if out[i].Number == st.Attempt {
			look = st.Look
		}
		t, err := s.Store.Task(ctx, engine.TaskID(v.Execution.ID, v.Node.ID, out[i].Number, look))
		switch {
		case fault.Is(err, fault.NotFound): // it needs no delegate
		case err != nil:
			return nil, err
		case t.Delegate != "":
			if out[i].Delegate, err = s.delegate(ctx, known, v.Execution.Scope.Account, t.Delegate); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// delegate is one by its id, read once.
func (s *Service) delegate(ctx context.Context, known map[string]*NodeDelegate, account, id string) (*NodeDelegate, error) {
	if d := known[id]; d != nil {
		return d, nil
	}
	d, err := s.Store.Delegate(ctx, account, id)
	if err != nil && !fault.Is(err, fault.NotFound) { // it said goodbye
		return nil, err
	}
	known[id] = &NodeDelegate{ID: id, Name: d.Name, Host: d.Host}
	return known[id], nil
}
