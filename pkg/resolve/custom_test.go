package resolve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	customlane "github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/task"
)

const fleetYAML = `
identifier: fleet
name: Fleet
stages:
  - stage:
      identifier: deploy
      name: Deploy
      type: Deployment
      spec:
        deploymentType: CustomDeployment
        execution:
          steps:
            - step: {identifier: fetch, name: fetch, type: FetchInstanceScript, spec: {}}
            - step: {identifier: each, name: each, type: ShellScript, spec: {}, strategy: {repeat: {items: <+stage.output.hosts>}}}
            - step: {identifier: after, name: after, type: ShellScript, spec: {}}
`

// fleetScope is the scope of a node of a stage that has found instances, or
// hasn't yet.
func fleetScope(t *testing.T, node plan.NodeID, found bool) *resolve.Scope {
	t.Helper()
	return fleetWith(t, node, found, `{type: Inline, spec: {content: "`+fleetScript+`"}}`)
}

const fleetScript = "curl -H <+infra.variables.token> <+infra.variables.address> > $INSTANCE_OUTPUT_PATH"

// fleetWith is fleetScope where the deployment template's script is in a store.
func fleetWith(t *testing.T, node plan.NodeID, found bool, script string) *resolve.Scope {
	t.Helper()
	d := &plan.Deployment{
		Type: "CustomDeployment", ServiceRef: "engine", EnvironmentRef: "floor",
		Service: parse(t, `{identifier: engine, name: Engine, serviceDefinition: {type: CustomDeployment, spec: {artifacts: {primary: {sources: [
  {identifier: a, type: CustomArtifact, spec: {version: "1.4"}}]}}}}}`),
		Environment:    parse(t, `{identifier: floor, name: Floor}`),
		Infrastructure: parse(t, `{identifier: hall, name: Hall, type: CustomDeployment, spec: {customDeploymentRef: {templateRef: t}, variables: [{name: address, type: String, value: http://hall}, {name: most, type: Number, value: 3}]}}`),
		Template: parse(t, `{infrastructure: {variables: [{name: address, type: String, value: <+input>}, {name: zone, type: String, value: home}, {name: owner, type: String, value: <+input>},
    {name: token, type: Secret, value: inventory}, {name: repo, type: Connector, value: git}],
  fetchInstancesScript: {store: `+script+`},
  instancesListPath: machines, instanceAttributes: [{name: hostname, jsonPath: old}, {name: instancename, jsonPath: name}]}}`),
	}
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, fleetYAML), Deployments: map[string]*plan.Deployment{"deploy": d}})
	if err != nil {
		t.Fatal(err)
	}
	const steps = "pipeline.stages.deploy.spec.execution.steps."
	states := map[plan.NodeID]plan.State{}
	if found {
		states[steps+"fetch"] = plan.State{Status: plan.Success, Outputs: []byte(`{"deploymentInfoOutcome": {"serverInstanceInfoList": [
  {"hostName": "press", "instanceName": "press", "properties": {"zone": "a"}}, {"hostName": "lathe", "instanceName": "lathe", "properties": {}}]}}`)}
	}
	scope := func(n *plan.Node) *resolve.Scope {
		return resolve.New(resolve.Config{
			Types: builtin.Types(), Context: t.Context(), Plan: p, Node: n, Entities: fleetEntities{}, Now: time.Unix(1000, 0),
			Files:     files{contents: map[string]string{"acme/default/web:/list-home.sh": fleetScript, "acme/default/web:/bin": "\xff"}},
			State:     func(id plan.NodeID) plan.State { return states[id] },
			Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
		})
	}
	if found {
		its, err := scope(p.Node(steps + "each")).Iterations()
		if err != nil {
			t.Fatal(err)
		}
		states[steps+"each"] = plan.State{Status: plan.Running, Iterations: &its}
	}
	n := p.Node(steps + node)
	if n == nil {
		t.Fatalf("the plan has no node %s", node)
	}
	return scope(n)
}

// fleetEntities has the connector that a variable names.
type fleetEntities struct{ store.Entities }

// Entity finds it.
func (fleetEntities) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	if k.Kind != ref.Connector || k.ID != "git" {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte(`connector: {identifier: git, type: Git, spec: {url: "https://git.example.com/web", authentication: {spec: {spec: {tokenRef: account.gitToken}}}}}`)}, nil
}

func TestNamesOfCustomDeployments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		node     plan.NodeID
		body     string
		want     string
		notFound bool // no instances were looked for
	}{
		{"after", "infra.variables.address", "http://hall", false},
		{"after", "infra.variables.zone", "home", false},
		{"after", "infra.variables.most + 1", "4", false},
		{"after", "stage.spec.infrastructure.output.variables.zone", "home", false},
		{"after", "pipeline.stages.deploy.spec.infrastructure.output.variables.most", "3", false},
		{"after", "infra.variables.repo", "git", false},
		{"after", "infra.variables.repo.spec.url", "https://git.example.com/web", false},
		{"after", "infra.variables.repo.spec.authentication.spec.spec.tokenRef", "account.gitToken", false},
		{"after", "infra.variables.repo.spec.authentication.spec.spec.tokenRef.identifier", "account.gitToken", false},
		{"after", "infra.variables.owner", `error: the infrastructure's variable "owner" has no value; its deployment template asks for one`, false},
		{"after", "infra.variables.nope", `error: neither the infrastructure nor its deployment template has a variable "nope"`, false},
		{"after", "stage.output.hosts", `["press","lathe"]`, false},
		{"after", "stage.output.hosts", `error: no FetchInstanceScript step of the stage has found any instances yet`, true},
		{"after", "execution.steps.fetch.deploymentInfoOutcome.serverInstanceInfoList[1].hostName", "lathe", false},
		{"after", "instance.name", "error: instance has a meaning only in a loop", false},
		{"each_0", "instance.name", "press", false},
		{"each_1", "instance.hostName", "lathe", false},
		{"each_0", "instance.host.hostName", "press", false},
		{"each_0", "instance.host.instanceName", "press", false},
		{"each_0", "instance.host.properties.zone", "a", false},
		{"each_0", "instance.host.properties", `{"zone":"a"}`, false},
		{"each_0", "instance.host.privateIp", "null", false},
		{"each_1", "instance.host.properties.zone", `error: the instance has no property "zone"`, false},
		{"each_1", "instance.color", "error: an instance has name, hostName", false},
		{"each_1", "repeat.item", "lathe", false},
	}
	for _, tt := range tests {
		t.Run(string(tt.node)+" "+tt.body, func(t *testing.T) {
			t.Parallel()
			v, err := expr.Evaluate(tt.body, fleetScope(t, tt.node, !tt.notFound))
			got := v.Text()
			if err != nil {
				got = "error: " + err.Error()
			}
			want, fails := strings.CutPrefix(tt.want, "error: ")
			if fails != (err != nil) || fails && !strings.Contains(got, want) || !fails && got != want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The script's own expressions are resolved, and a secret stays a placeholder.
func TestTheScriptThatFindsInstances(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*resolve.Scope{
		"inline": fleetScope(t, "fetch", false),
		"a file": fleetWith(t, "fetch", false, `{type: Harness, spec: {files: ["/list-<+infra.variables.zone>.sh"]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findsInstances(t, s)
		})
	}
	for file, want := range map[string]string{"/none.sh": "the file store has no file acme/default/web:/none.sh", "/bin": "isn't text"} {
		_, err := fleetWith(t, "fetch", false, `{type: Harness, spec: {files: [`+file+`]}}`).Deployment()
		if err == nil || !strings.Contains(err.Error(), "the script of the deployment template: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("the script %s gave %v; want %s", file, err, want)
		}
	}
}

func findsInstances(t *testing.T, s *resolve.Scope) {
	t.Helper()
	d, err := s.Deployment()
	if err != nil {
		t.Fatal(err)
	}
	var token string
	for placeholder, name := range s.Secrets() {
		if name != "secret:acme/default/web:inventory" {
			t.Errorf("the secret is %s", name)
		}
		token = placeholder
	}
	want := &customlane.Instances{
		Script: task.Shell{Shell: "Bash", Script: "curl -H " + token + " http://hall > $INSTANCE_OUTPUT_PATH"},
		List:   "machines", Name: "name", Attributes: map[string]string{"hostname": "old", "instancename": "name"},
	}
	where := &step.Deployment{Type: "CustomDeployment", ServiceID: "engine", EnvironmentID: "floor", Infrastructure: "hall", Image: "1.4", Target: want}
	if diff := cmp.Diff(where, d); diff != "" {
		t.Errorf("what is deployed (-want +got):\n%s", diff)
	}
	key, err := s.InfrastructureKey()
	if err != nil || len(key) != 40 {
		t.Errorf("the key is %q: %v", key, err)
	}
}
