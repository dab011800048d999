package resolve

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func dotted(path []string) string { return strings.Join(path, ".") }

func join(a, b []string) []string { return append(slices.Clone(a), b...) }

// relative turns a path that starts at the node's own place into one that
// starts at the pipeline (semantics/pipeline §3.5).
func (walk paths) relative(path []string) (expr.Value, int, error) {
	var base plan.NodeID
	rest := path[1:]
	switch path[0] {
	case "stage":
		base = idOf(walk.scope.Node.Stage())
	case "execution":
		base, rest = idOf(walk.scope.Node.Stage()), join([]string{"spec", "execution"}, rest)
		if walk.scope.Node.InProvisioner() { // whose section is an execution, too
			rest = join([]string{"spec", "environment", "provisioner"}, path[1:])
		}
	case "step":
		base = idOf(walk.scope.Node)
	case "spec":
		base, rest = idOf(walk.scope.Node), path
	case "stepGroup":
		base = idOf(group(walk.scope.Node))
	case "steps":
		return walk.nearest(path)
	}
	if base == "" {
		return expr.Null(), 0, unknown("%s has no meaning here", path[0])
	}
	full := join(strings.Split(string(base), "."), rest)
	return walk.absolute(full, len(full)-len(path))
}

func idOf(n *plan.Node) plan.NodeID {
	if n == nil {
		return ""
	}
	return n.ID
}

// group is the nearest step group around a node, or the node if it is one.
func group(n *plan.Node) *plan.Node {
	for ; n != nil; n = n.Parent() {
		if n.Kind == plan.KindGroup {
			return n
		}
	}
	return nil
}

// nearest looks `steps.x` up in the enclosing containers, the inner ones first.
func (walk paths) nearest(path []string) (expr.Value, int, error) {
	for g := group(walk.scope.Node.Parent()); g != nil; g = group(g.Parent()) {
		full := join(strings.Split(string(g.ID), "."), path)
		if len(path) > 1 && walk.scope.Plan.Node(plan.NodeID(dotted(full[:len(full)-len(path)+2]))) != nil {
			return walk.absolute(full, len(full)-len(path))
		}
	}
	stage := walk.scope.Node.Stage()
	if stage == nil {
		return expr.Null(), 0, unknown("steps has no meaning outside a stage")
	}
	if walk.scope.Node.InProvisioner() {
		full := join(strings.Split(string(stage.ID), "."), join([]string{"spec", "environment", "provisioner"}, path))
		return walk.absolute(full, len(full)-len(path))
	}
	full := join(strings.Split(string(stage.ID), "."), join([]string{"spec", "execution"}, path))
	return walk.absolute(full, len(full)-len(path))
}

// absolute resolves a path that starts at "pipeline". Its first `given`
// segments weren't written by the user and don't count as consumed.
func (walk paths) absolute(path []string, given int) (expr.Value, int, error) {
	path, short := ofProvisioner(path)
	path, dropped := walk.scope.record().canonical(path)
	given -= dropped + short
	var n *plan.Node
	at := 0
	for i := 1; i <= len(path); i++ {
		if found := walk.scope.record().find(path[:i]); found != nil {
			n, at = found, i
		}
	}
	rest := path[at:]
	var v expr.Value
	var used int
	var err error
	if n.Kind == plan.KindPipeline {
		v, used, err = walk.scope.pipelineField(rest)
	} else {
		v, used, err = walk.nodeField(n, rest)
	}
	return v, max(at+used-given, 0), err
}

// nodeField resolves a path below a node: what has become of it, what it put
// out, and what its document says.
func (walk paths) nodeField(n *plan.Node, rest []string) (expr.Value, int, error) {
	if n.Kind == plan.KindLoop {
		return walk.scope.record().loopField(n, rest)
	}
	if n.Type == plan.TypeChart {
		v, used, err := walk.scope.deployments().field(n.Stage(), join([]string{"manifests"}, rest))
		return v, max(used-1, 0), err
	}
	if n.Type == plan.TypeService { // its place is that of the stage's service
		v, used, err := walk.scope.deployments().field(n.Stage(), join([]string{"service"}, rest))
		return v, max(used-1, 0), err
	}
	if len(rest) == 0 {
		return expr.FromAny(walk.scope.Doc(n).Any()), 0, nil
	}
	st := walk.scope.State(n.ID)
	switch rest[0] {
	case "status", "currentStatus", "liveStatus":
		return walk.scope.record().statusField(n, rest[0]), 1, nil
	case "startTs":
		return millis(st.StartedAt.IsZero(), st.StartedAt.UnixMilli()), 1, nil
	case "endTs":
		return millis(st.EndedAt.IsZero(), st.EndedAt.UnixMilli()), 1, nil
	case "retryCount":
		return expr.Int(int64(max(st.Attempt-1, 0))), 1, nil
	case "identifierPostFix":
		return expr.String(n.Postfix()), 1, nil
	case "matrix", "repeat", "strategy":
		return walk.scope.record().looped(n, rest)
	}
	if n.Kind == plan.KindStage && n.Deployment != nil && rest[0] == "spec" && len(rest) > 1 {
		switch rest[1] {
		case "service", "serviceConfig", "serviceVariables", "env", "environment", "infra", "infrastructure", "artifacts", "manifests":
			v, used, err := walk.scope.deployments().field(n, rest[1:])
			return v, used + 1, err
		}
	}
	if n.Kind == plan.KindStage && len(rest) > 1 && rest[0] == "output" && rest[1] == "hosts" {
		v, err := walk.scope.deployments().hostNames(n)
		return v, 2, err
	}
	if c := n.Chained(); c != nil && rest[0] == "output" {
		n, st = c, walk.scope.State(c.ID) // semantics/pipeline §1.7
	}
	if v, used, ok, err := walk.scope.outputs.output(n, st, rest); ok || err != nil {
		return v, used, err
	}
	return walk.docField(n, rest)
}

func millis(zero bool, ms int64) expr.Value {
	if zero {
		return expr.Null()
	}
	return expr.Int(ms)
}

// outputNames are what only a step's result can have; without a result they
// are null (semantics/pipeline §3.5).
func outputNames(name string) bool {
	switch name {
	case "output", "exitCode", "build", "issue", "ticket", "deploymentInfoOutcome", "k8s":
		return true
	}
	return false
}

// outputs are what steps put out, decoded once.
type outputs struct {
	decoded map[plan.NodeID]any
	secrets *placeholders
}

// output resolves a path in what a step put out.
func (o outputs) output(n *plan.Node, st plan.State, rest []string) (expr.Value, int, bool, error) {
	outputs, err := o.outputsOf(n.ID, st)
	if err != nil {
		return expr.Null(), 0, false, err
	}
	m, _ := outputs.(map[string]any)
	if _, ok := m[rest[0]]; !ok {
		if n.Kind == plan.KindStep && outputNames(rest[0]) {
			return expr.Null(), len(rest), true, nil
		}
		return expr.Null(), 0, false, nil
	}
	var at any = m
	for i, key := range rest {
		inner, isMap := at.(map[string]any)
		if _, secret := inner[plan.SecretKey]; !isMap || secret {
			return o.outputValue(at), i, true, nil
		}
		value, ok := inner[key]
		if !ok {
			return expr.Null(), len(rest), true, nil
		}
		at = value
	}
	return o.outputValue(at), len(rest), true, nil
}

// outputValue is an output as expressions see it: one that is kept encrypted
// is a handle.
func (o outputs) outputValue(v any) expr.Value {
	if m, ok := v.(map[string]any); ok {
		if name, ok := m[plan.SecretKey].(string); ok {
			o.secrets.name(name, false)
			return o.secrets.of(name)
		}
	}
	return expr.FromAny(v)
}

func (o outputs) outputsOf(id plan.NodeID, st plan.State) (any, error) {
	doc := st.Result()
	if len(doc) == 0 {
		return nil, nil
	}
	if v, ok := o.decoded[id]; ok {
		return v, nil
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return nil, err
	}
	o.decoded[id] = v
	return v, nil
}

// loopField resolves a path to a looped node without saying which iteration:
// only what holds for all of them.
func (r record) loopField(n *plan.Node, rest []string) (expr.Value, int, error) {
	if len(rest) > 0 {
		switch rest[0] {
		case "status":
			return r.statusField(n, "status"), 1, nil
		case "currentStatus", "liveStatus":
			return expr.StatusOf(r.loopStatus(n)), 1, nil
		}
	}
	return expr.Null(), 0, unknown("%s runs in a loop; say which iteration, e.g. %s_0", n.Identifier, n.Identifier)
}

// docField resolves a path in a node's document. A step or a stage that the
// path names and the plan doesn't have is an error; a key that could be there
// and isn't is null.
func (walk paths) docField(n *plan.Node, rest []string) (expr.Value, int, error) {
	for i := 0; i+1 < len(rest); i++ {
		if rest[i] == "steps" || rest[i] == "rollbackSteps" {
			return expr.Null(), 0, unknown("%s has no step %q", n.Identifier, rest[i+1])
		}
	}
	return walk.field(walk.scope.Doc(n), rest)
}

// Doc is a node's document with the inputs that it has asked for.
func (s *Scope) Doc(n *plan.Node) *yamldoc.Node {
	if n.Asks == "" {
		return n.Doc
	}
	st := s.State(n.ID)
	if !st.Answered {
		return n.Doc
	}
	return input.Answer(n.Doc, nil, input.Source{Doc: st.Given, Lenient: true}).Doc
}

// field walks a document. Lists of named things are maps by name
// (semantics/pipeline §3.5): variables, environmentVariables, ...
func (walk paths) field(doc *yamldoc.Node, rest []string) (expr.Value, int, error) {
	at := doc
	for i, key := range rest {
		if at == nil {
			return expr.Null(), len(rest), nil
		}
		switch at.Kind {
		case yamldoc.Mapping:
			if at = at.Get(key); at == nil && key == "variables" && i+1 < len(rest) {
				return expr.Null(), 0, unknown("there are no variables, so no %q", rest[i+1])
			}
		case yamldoc.Sequence:
			item := named(at, key)
			if item == nil {
				return expr.Null(), 0, unknown("there is no %q in this list", key)
			}
			v, err := walk.scope.variable(item)
			return v, i + 1, err
		case yamldoc.Scalar, yamldoc.Null:
			v, err := walk.scope.scalar(at)
			return v, i, err
		}
	}
	v, err := walk.scope.scalar(at)
	return v, len(rest), err
}

// named finds the item of a list that has the name or identifier.
func named(list *yamldoc.Node, key string) *yamldoc.Node {
	for _, item := range list.Items {
		for _, by := range []string{"name", "identifier", "key"} {
			if f := item.Get(by); f != nil && f.Value == key {
				return item
			}
		}
	}
	return nil
}

// variable is the value of a list's item: a secret variable is a handle.
func (s *Scope) variable(item *yamldoc.Node) (expr.Value, error) {
	value := item.Get("value")
	v, err := s.scalar(value)
	if err != nil {
		return v, err
	}
	switch typ := item.Get("type"); {
	case typ == nil || value == nil:
	case typ.Value == "Secret" && value.Value != "":
		return s.access().secret(v.Text(), s.Execution.Scope)
	case typ.Value == "Number" && value.Tag == yamldoc.Str:
		return expr.ParseNumber(v.Text()), nil
	case typ.Value == "String" && value.Tag != yamldoc.Str && value.Kind == yamldoc.Scalar:
		return expr.String(value.Value), nil // 1.10 stays 1.10
	}
	return v, nil
}

// field resolves a field that was decoded with its expressions.
func field[T any](s *Scope, f yamldoc.Field[T]) (expr.Value, error) {
	if !f.Set {
		return expr.Null(), nil
	}
	return checked(s, f.Text, f.Must)
}

// checked resolves a text, and checks it if it is the value of a runtime input.
func checked(s *Scope, text, of string) (expr.Value, error) {
	v, err := s.value(text)
	if err == nil {
		err = must(of, v, s.Text)
	}
	return v, err
}

// scalar resolves a value of a document.
func (s *Scope) scalar(n *yamldoc.Node) (expr.Value, error) {
	switch {
	case n == nil:
		return expr.Null(), nil
	case n.Kind == yamldoc.Scalar && n.Tag == yamldoc.Str:
		return checked(s, n.Value, n.Must)
	case n.Kind == yamldoc.Scalar || n.Kind == yamldoc.Null:
		return expr.FromAny(n.Any()), must(n.Must, expr.String(n.Value), s.Text)
	}
	tree, err := s.tree(n, "")
	if err != nil {
		return expr.Null(), err
	}
	return expr.FromAny(tree.Any()), nil
}
