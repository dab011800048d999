package target_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
)

const kubernetesTo = "{deploymentType: Kubernetes, service: {serviceRef: %s}, environment: {environmentRef: %s, infrastructureDefinitions: [{identifier: %s}]}}"

// What a stage names by a text is read, and refused, before anything runs.
func TestWhatIsWrittenIsReadAtOnce(t *testing.T) {
	t.Parallel()
	s := saved(t, town+`---
service: {identifier: helm, name: helm, serviceDefinition: {type: NativeHelm, spec: {}}}
---
service: {identifier: asks, name: asks, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: v, type: String, value: <+input>}]}}}
`)
	tests := []struct{ name, service, environment, infrastructure, want string }{
		{"all is there", "a", "e", "y", "a e y"},
		{"no such service", "none", "e", "x", `error: there is no service "none" in acme/o/p`},
		{"no such environment", "a", "none", "x", `error: there is no environment "none" in acme/o/p`},
		{"no such infrastructure", "a", "e", "none", `error: there is no infrastructureDefinition "none" in environment e of acme/o/p`},
		{"an infrastructure of another environment", "a", "f", "x", `error: there is no infrastructureDefinition "x" in environment f of acme/o/p`},
		{"a service of another type", "helm", "e", "x", "error: the stage deploys Kubernetes, but service helm is of type NativeHelm"},
		{"an infrastructure of another type", "a", "e", "z", "error: the stage deploys Kubernetes, but infrastructure z is of type NativeHelm"},
		{"an infrastructure for other services", "b", "e", "y", "error: infrastructure y of environment e isn't scoped to service b (scopedServices)"},
		{"an input without a value", "asks", "e", "x", "error: service asks: "},
		{"a service that is found when it begins, and no such environment", "<+pipeline.name>", "none", "x", `error: there is no environment "none"`},
		{"an environment that is found when it begins, and no such service", "none", "<+pipeline.name>", "x", `error: there is no service "none"`},
		{"all of it is found when it begins", "<+pipeline.name>", "<+pipeline.name>", "x", "late"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
			d, err := r.Plan(t.Context(), deploying(t, fmt.Sprintf(kubernetesTo, tt.service, tt.environment, tt.infrastructure)), nil)
			told(t, d, err, tt.want)
		})
	}
}

// told compares what is deployed where, or the error, with what is wanted.
func told(t *testing.T, d *plan.Deployment, err error, want string) {
	t.Helper()
	if words, fails := strings.CutPrefix(want, "error: "); fails {
		if err == nil || !strings.HasPrefix(err.Error(), words) {
			t.Errorf("%v; want %s", err, words)
		}
		if err != nil && fault.CodeOf(err) == fault.Internal {
			t.Errorf("%v has no code of its own", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := "late"
	if !d.Late {
		got = strings.Join([]string{d.ServiceRef, d.EnvironmentRef, d.Infrastructure.Text("identifier")}, " ")
	}
	if got != want {
		t.Errorf("it deploys %s; want %s", got, want)
	}
}

// semantics/entities §5 and §5.1: what a stage names by expressions, or takes from
// an earlier stage that did, is found when it begins.
func TestChoose(t *testing.T) {
	t.Parallel()
	s := saved(t, town)
	const taken = "{deploymentType: Kubernetes, service: {useFromStage: {stage: first}}, environment: {useFromStage: {stage: first}%s}}"
	first := &plan.Deployment{
		Type: "Kubernetes", ServiceRef: "b", EnvironmentRef: "e", Infrastructure: parsed(t, "{identifier: x}"),
	}
	several := &plan.Iterations{List: []plan.Iteration{
		{Postfix: "_0", Choice: &plan.Choice{Service: plan.Pick{Ref: "b"}, Environment: plan.Pick{Ref: "e"}, Infrastructure: plan.Pick{Ref: "x"}}},
		{Postfix: "_1", Choice: &plan.Choice{Service: plan.Pick{Ref: "b"}, Environment: plan.Pick{Ref: "e"}, Infrastructure: plan.Pick{Ref: "y"}}},
	}}
	tests := []struct {
		name, first, spec string
		state             plan.State // of the first stage
		want              string
	}{
		{"by variables", kubernetesTo, fmt.Sprintf(kubernetesTo, "<+pipeline.variables.service>", "<+pipeline.variables.environment>", "<+pipeline.variables.infrastructure>"), plan.State{}, "a e y"},
		{"by what is empty", kubernetesTo, fmt.Sprintf(kubernetesTo, "<+pipeline.variables.empty>", "e", "x"), plan.State{}, "error: serviceRef: <+pipeline.variables.empty> is empty; want an identifier"},
		{"by a secret", kubernetesTo, fmt.Sprintf(kubernetesTo, "a", "<+secrets.getValue('s')>", "x"), plan.State{}, "error: environmentRef: <+secrets.getValue('s')> is a secret, which can't choose what is deployed"},
		{"by a list", kubernetesTo, fmt.Sprintf(kubernetesTo, "a", "e", "<+pipeline.variables>"), plan.State{}, "error: the infrastructure's identifier: <+pipeline.variables> is a list; want an identifier"},
		{"by what isn't there", kubernetesTo, fmt.Sprintf(kubernetesTo, "<+pipeline.variables.environment>", "e", "x"), plan.State{}, `error: there is no service "e" in acme/o/p`},
		{"as the first stage has chosen", kubernetesTo, fmt.Sprintf(taken, ""), plan.State{Deployment: first}, "b e x"},
		{"its environment, and another infrastructure", kubernetesTo, fmt.Sprintf(taken, ", infrastructureDefinitions: [{identifier: z}]"), plan.State{Deployment: first}, "error: the stage deploys Kubernetes, but infrastructure z is of type NativeHelm"},
		{"the first stage was skipped", kubernetesTo, fmt.Sprintf(taken, ""), plan.State{}, "error: stage first, from which this one takes, deployed nothing"},
		{"one service of several deployments", "loop", fmt.Sprintf(taken, ""), plan.State{Iterations: several}, "b e x"},
		{"several deployments, none of which began", "loop", fmt.Sprintf(taken, ""), plan.State{}, "error: stage first, from which this one takes, deployed nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			doc := "{deploymentType: Kubernetes, services: {values: [{serviceRef: b}]}, environment: {environmentRef: e, deployToAll: true}"
			if tt.first != "loop" {
				doc = strings.TrimSuffix(fmt.Sprintf(kubernetesTo, "<+pipeline.variables.service>", "e", "x"), "}")
			}
			pipeline := pipelineOf(t, `{identifier: p, name: p, variables: [{name: service, type: String, value: a}, {name: environment, type: String, value: e}, {name: infrastructure, type: String, value: y}, {name: empty, type: String, value: ""}], stages: [
  {stage: {identifier: first, name: F, type: Deployment, spec: `+doc+`, execution: {steps: []}}}},
  {stage: {identifier: s, name: S, type: Deployment, spec: `+strings.TrimSuffix(tt.spec, "}")+`, execution: {steps: []}}}}]}`)
			r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
			deployments, written := map[string]*plan.Deployment{}, map[string]*entity.Deployment{}
			for _, stage := range pipeline.Stages.All() {
				written[stage.Identifier.Value] = nil // what is taken isn't known before it runs
				d, err := r.Plan(t.Context(), stage.Deployment, written)
				if err != nil {
					t.Fatal(err)
				}
				deployments[stage.Identifier.Value] = d
			}
			p, err := planning.Build(planning.Source{Pipeline: pipeline, Deployments: deployments})
			if err != nil {
				t.Fatal(err)
			}
			d, err := engine.Choosing(resolve.New(resolve.Config{
				Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.s"), Entities: s, Execution: store.Execution{Scope: project()},
				State: func(id plan.NodeID) plan.State {
					if id == "pipeline.stages.first" {
						return tt.state
					}
					return plan.State{}
				}, Now: time.Unix(0, 0),
			})).Choose(t.Context())
			told(t, d, err, tt.want)
		})
	}
}
