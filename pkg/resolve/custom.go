package resolve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
)

// infraVariable resolves infra.variables.X of a custom deployment: what the
// infrastructure says of it, else its template (semantics/pipeline §9.6). The
// path of a variable that names a connector goes on into the connector.
func (dep deployments) infraVariable(d *deployed, path []string) (expr.Value, int, error) {
	layers := [][]entity.Variable{d.infrastructure.Infrastructure.Variables, entity.TemplateVariables(d.Template, entity.Options{Types: dep.scope.Types})}
	if len(path) < 3 {
		v, err := dep.variableMap(slices.Concat(layers...))
		return v, len(path), err
	}
	for _, list := range layers {
		one := variableOf(list, path[2])
		switch {
		case one == nil:
		case one.Type.Text == "Connector" && len(path) > 3:
			return dep.connectorPath(one, path)
		case expr.IsRuntimeInput(one.Value.Text):
			return expr.Null(), 0, fault.New(fault.UnresolvedExpression, "the infrastructure's variable %q has no value; its deployment template asks for one", path[2])
		default:
			v, err := dep.scope.variable(one.Doc)
			return v, 3, err
		}
	}
	return expr.Null(), 0, unknown("neither the infrastructure nor its deployment template has a variable %q", path[2])
}

// variableMap is all variables of a list by name, the first ones on top.
func (dep deployments) variableMap(list []entity.Variable) (expr.Value, error) {
	all := map[string]expr.Value{}
	for _, one := range list {
		if _, known := all[one.Name.Text]; known || expr.IsRuntimeInput(one.Value.Text) {
			continue
		}
		v, err := dep.scope.variable(one.Doc)
		if err != nil {
			return expr.Null(), err
		}
		all[one.Name.Text] = v
	}
	return expr.Map(all), nil
}

// connectorPath resolves what a path says of a connector's document. A key
// that names a secret is its reference, and so is that key's identifier, for
// secrets.getValue.
func (dep deployments) connectorPath(one *entity.Variable, path []string) (expr.Value, int, error) {
	name, err := field(dep.scope, one.Value)
	if err != nil {
		return expr.Null(), 0, err
	}
	doc, err := dep.scope.access().connectorDocument(name.Text())
	if err != nil {
		return expr.Null(), 0, err
	}
	last := len(path) - 1
	if path[last] == "identifier" && strings.HasSuffix(path[last-1], "Ref") {
		return dep.constant(doc.At(path[3:last]...), len(path))
	}
	return dep.below(doc, path, 3)
}

// hosts are the instances that the last step of a stage which finds some has
// found.
func (dep deployments) hosts(stage *plan.Node) ([]task.InstanceFound, error) {
	var finds string
	if stage != nil && stage.Deployment != nil {
		lane, _ := dep.scope.Lanes.Of(stage.Deployment.Type)
		finds = lane.Finds
	}
	if finds == "" {
		return nil, unknown("no step of the stage finds instances")
	}
	var latest *plan.Node
	var at time.Time
	for _, n := range steps(stage) {
		st := dep.scope.State(n.ID)
		if n.Type == finds && st.Status == plan.Success && !st.EndedAt.Before(at) {
			latest, at = n, st.EndedAt
		}
	}
	if latest == nil {
		return nil, unknown("no %s step of the stage has found any instances yet", finds)
	}
	var out struct {
		Found task.InstancesFound `json:"deploymentInfoOutcome"`
	}
	if err := json.Unmarshal(dep.scope.State(latest.ID).Result(), &out); err != nil {
		return nil, fmt.Errorf("decode the instances of %s: %w", latest.ID, err)
	}
	return out.Found.List, nil
}

// hostNames resolves stage.output.hosts.
func (dep deployments) hostNames(stage *plan.Node) (expr.Value, error) {
	hosts, err := dep.hosts(stage)
	if err != nil {
		return expr.Null(), err
	}
	names := make([]expr.Value, len(hosts))
	for i, h := range hosts {
		names[i] = expr.String(h.HostName)
	}
	return expr.List(names), nil
}

// instance resolves instance.*: the instance whose turn it is in a loop over
// the stage's hosts (semantics/pipeline §3.6).
func (dep deployments) instance(path []string) (expr.Value, int, error) {
	loop, _, values, err := dep.scope.record().around(dep.scope.Node, "repeat")
	if err != nil {
		return expr.Null(), 0, err
	}
	var item expr.Value
	if loop != nil {
		repeat, _ := values.Field("repeat")
		item, _ = repeat.Field("item")
	}
	if item.IsNull() {
		return expr.Null(), 0, unknown("instance has a meaning only in a loop with repeat.items: <+stage.output.hosts>")
	}
	hosts, err := dep.hosts(dep.scope.Node.Stage())
	if err != nil {
		return expr.Null(), 0, err
	}
	i := slices.IndexFunc(hosts, func(h task.InstanceFound) bool { return h.HostName == item.Text() })
	if i < 0 {
		return expr.Null(), 0, unknown("the stage has found no instance %q", item.Text())
	}
	return instanceField(hosts[i], path)
}

func instanceField(h task.InstanceFound, path []string) (expr.Value, int, error) {
	const property = "instance.host.properties"
	switch name := dotted(path); {
	case name == "instance.name" || name == "instance.hostName":
		return expr.String(h.HostName), 2, nil
	case name == "instance.host.instanceName" || name == "instance.host.hostName":
		return expr.String(h.HostName), 3, nil
	case name == "instance.host.privateIp" || name == "instance.host.publicIp":
		return expr.Null(), 3, nil // of machines that a cloud knows
	case name == property:
		all := map[string]expr.Value{}
		for k, v := range h.Properties {
			all[k] = expr.String(v)
		}
		return expr.Map(all), 3, nil
	case strings.HasPrefix(name, property+"."):
		v, ok := h.Properties[path[3]]
		if !ok {
			return expr.Null(), 0, unknown("the instance has no property %q; it has %s", path[3], strings.Join(slices.Sorted(maps.Keys(h.Properties)), ", "))
		}
		return expr.String(v), 4, nil
	}
	return expr.Null(), 0, unknown("an instance has name, hostName, host.instanceName, host.hostName and host.properties; found %s", dotted(path))
}
