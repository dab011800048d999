package entity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A refusal is told once, at its cause: nothing beside it asks for what the
// refused form doesn't have.
func TestWhatFollowsFromARefusalIsntTold(t *testing.T) {
	t.Parallel()
	stage := func(typ, spec string) string {
		return "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: " + typ + ", failureStrategies: " +
			"[{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}], spec: {" + spec + "}}}]}"
	}
	const steps = "execution: {steps: [{step: {identifier: a, name: a, type: Wait}}]}"
	for name, tt := range map[string]struct {
		doc  string
		want []string // paths of the errors
	}{
		"the legacy form": {
			stage("Deployment", "serviceConfig: {serviceRef: a}, infrastructure: {environmentRef: b}, "+steps),
			[]string{"stages[0].stage.spec.serviceConfig", "stages[0].stage.spec.infrastructure"},
		},
		"the legacy form of the infrastructure alone": {
			stage("Deployment", "infrastructure: {environmentRef: b}, "+steps), []string{"stages[0].stage.spec.infrastructure"},
		},
		"an infrastructure of several environments of GitOps": {
			stage("Deployment", "deploymentType: Kubernetes, gitOpsEnabled: true, service: {serviceRef: a}, environments: {values: [{environmentRef: b, deployToAll: true, infrastructureDefinitions: [{identifier: c}]}]}, "+steps),
			[]string{"stages[0].stage.spec.environments.values[0].infrastructureDefinitions"},
		},
		"clusters of GitOps": {
			stage("Deployment", "deploymentType: Kubernetes, service: {serviceRef: a}, environment: {environmentRef: b, gitOpsClusters: [{identifier: c}]}, "+steps),
			[]string{"stages[0].stage.spec.environment.gitOpsClusters"},
		},
		"a build": {
			strings.Replace(stage("CI", ""), "identifier: p,", "identifier: p, properties: {ci: {codebase: {connectorRef: git}}},", 1),
			[]string{"stages[0].stage.type"},
		},
		"a build in a parallel block": {
			"pipeline: {identifier: p, name: p, properties: {ci: {codebase: {build: x}}}, stages: [{parallel: [{stage: {identifier: s, name: s, type: CI, spec: {}}}]}]}",
			[]string{"stages[0].parallel[0].stage.type"},
		},
		"a codebase that nothing builds": {
			strings.Replace(stage("Custom", steps), "identifier: p,", "identifier: p, properties: {ci: {codebase: {connectorRef: git}}},", 1),
			[]string{"properties"},
		},
		"steps of a deployment type": {
			stage("Deployment", "deploymentType: TAS, service: {serviceRef: a}, environment: {environmentRef: b, infrastructureDefinitions: [{identifier: c}]}, "+
				"execution: {steps: [{step: {identifier: a, name: a, type: TasRollingDeploy}}, {step: {identifier: t, name: t, type: TerraformPlan}}]}"),
			[]string{"stages[0].stage.spec.deploymentType", "stages[0].stage.spec.execution.steps[1].step.type"},
		},
		"the infrastructure of a deployment type": {
			"infrastructureDefinition: {identifier: i, name: i, environmentRef: e, deploymentType: TAS, type: TAS, spec: {}}", []string{"deploymentType"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, report := decode("a.yaml", []byte(tt.doc), project)
			var got []string
			for _, f := range report.Findings() {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s\n%s", diff, lines(report))
			}
		})
	}
}
