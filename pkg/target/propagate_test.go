package target_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
)

// What is taken from another stage is known from what is written there: nothing
// has to have run. Infrastructures of the stage's own are those of the
// environment that it takes.
func TestWhatIsTakenAsItIsWritten(t *testing.T) {
	t.Parallel()
	s := saved(t, town)
	first := deploying(t, "{deploymentType: Kubernetes, service: {serviceRef: a}, environment: {environmentRef: e, infrastructureDefinitions: [{identifier: x}]}}")
	tests := []struct{ name, environment, want string }{
		{"all of it", "{useFromStage: {stage: first}}", "a e x"},
		{"another infrastructure", "{useFromStage: {stage: first}, infrastructureDefinitions: [{identifier: y}]}", "a e y"},
		{"one, as it was written before", "{useFromStage: {stage: first}, infrastructureDefinition: {identifier: y}}", "a e y"},
		{"an empty list beside it", "{useFromStage: {stage: first}, infrastructureDefinitions: []}", "a e x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := deploying(t, "{deploymentType: Kubernetes, service: {useFromStage: {stage: first}}, environment: "+tt.environment+"}")
			r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
			d, err := r.Plan(t.Context(), spec, map[string]*entity.Deployment{"first": first})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join([]string{d.ServiceRef, d.EnvironmentRef, d.Infrastructure.Get("identifier").Value}, " "); got != tt.want {
				t.Errorf("it deploys %s; want %s", got, tt.want)
			}
		})
	}
}

// A stage with several deployments takes what a member of its parallel block has
// written, whichever of them begins first.
func TestSeveralTakenFromBeside(t *testing.T) {
	t.Parallel()
	s := saved(t, town)
	doc := pipelineOf(t, `{identifier: p, name: p, stages: [{parallel: [
  {stage: {identifier: first, name: F, type: Deployment, spec: {deploymentType: Kubernetes, services: {values: [{serviceRef: a}]}, environment: {environmentRef: e, infrastructureDefinitions: [{identifier: x}]}, execution: {steps: []}}}},
  {stage: {identifier: s, name: S, type: Deployment, spec: {deploymentType: Kubernetes, services: {useFromStage: {stage: first}}, environment: {useFromStage: {stage: first}, infrastructureDefinitions: [{identifier: x}, {identifier: y}]}, execution: {steps: []}}}}]}]}`)
	specs, deployments := map[string]*entity.Deployment{}, map[string]*plan.Deployment{}
	for _, stage := range doc.Stages.All() {
		specs[stage.Identifier.Value] = stage.Deployment
	}
	r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
	for id, spec := range specs {
		var err error
		if deployments[id], err = r.Plan(t.Context(), spec, specs); err != nil {
			t.Fatal(err)
		}
	}
	p, err := planning.Build(planning.Source{Pipeline: doc, Deployments: deployments})
	if err != nil {
		t.Fatal(err)
	}
	got, err := expanded(t.Context(), resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node("pipeline.stages.s"), Entities: s, Execution: store.Execution{Scope: project()},
		State: func(plan.NodeID) plan.State { return plan.State{} }, Now: time.Unix(0, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, it := range got.List {
		names = append(names, it.Choice.Service.Ref+"-"+it.Choice.Environment.Ref+"-"+it.Choice.Infrastructure.Ref)
	}
	if want := "a-e-x a-e-y"; strings.Join(names, " ") != want {
		t.Errorf("it deploys %s; want %s", strings.Join(names, " "), want)
	}
}
